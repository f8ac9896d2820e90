import { open } from 'node:fs/promises';
import type { Data, RecordBatch, Vector } from 'apache-arrow';
import { messageOf } from '../../core/start-error.js';
import { optional } from '../optional.js';
import type { Row, Source } from '../row.js';
import { TransferError } from '../transfer-error.js';
import { typeFault } from './column-type.js';
import { faultOf, textOf } from './utf8.js';

type Library = typeof import('apache-arrow');

/** What a point is made of: each of these types, and a list of it. */
const USABLE =
  /^((Large)?List<|FixedSizeList\[\d+\]<)?(Null|Bool|(Large)?Utf8|Utf8View|(Int|Uint|Float)\d+)>?$/;

/** A type whose values are numbers of others, those in the end. */
const DICTIONARY = /Dictionary<\w+, ([^>]+)>/;

/** A table of Arrow, as a file (Feather 2) or as a stream: a record batch is in memory at a time. */
export async function openArrow(path: string, needs: (column: string) => boolean): Promise<Source> {
  const library = await optional(
    async () => await import('apache-arrow'),
    'apache-arrow',
    'reading Arrow',
  );
  const unreadable = (error: unknown): TransferError =>
    new TransferError(
      `${path} cannot be read as Arrow: ${messageOf(error)}. It may be empty or cut off; one that ` +
        'is compressed has to be written with compression="uncompressed"',
    );
  const file = await open(path).catch((error: unknown) => {
    throw new TransferError(`${path} cannot be read: ${messageOf(error)}`);
  });
  let batchesRead = 0;
  try {
    const reader = await library.RecordBatchReader.from(file);
    await reader.open();
    const names = reader.schema.fields.map(({ name }) => name);
    for (const { name, type } of reader.schema.fields) {
      const isUsable = USABLE.test(String(type).replace(DICTIONARY, '$1'));
      if (needs(name) && !isUsable) throw typeFault(path, name, String(type));
    }
    const batches = 'numRecordBatches' in reader ? Number(reader.numRecordBatches) : undefined;
    async function* rows(after: number): AsyncGenerator<Row> {
      let start = 0;
      try {
        for await (const batch of reader as AsyncIterable<RecordBatch>) {
          yield* rowsOf(library, batch, names.filter(needs), start, after);
          start += batch.numRows;
          batchesRead += 1;
        }
      } catch (error) {
        throw unreadable(error);
      }
    }
    return {
      columns: names,
      rows,
      share: () => (batches === undefined ? undefined : batchesRead / Math.max(1, batches)),
      async close() {
        await reader.cancel();
        await file.close();
      },
    };
  } catch (error) {
    await file.close();
    throw error instanceof TransferError ? error : unreadable(error);
  }
}

function* rowsOf(
  library: Library,
  batch: RecordBatch,
  names: readonly string[],
  start: number,
  after: number,
): Generator<Row> {
  const columns = names.map((name) => {
    const data = batch.getChild(name)?.data.map((one) => withBytes(library, one));
    return [name, data && new library.Vector(data)] as const;
  });
  for (let at = Math.max(0, after - start); at < batch.numRows; at += 1) {
    const cells = columns.map(([name, column]) => [name, plain(column?.get(at))] as const);
    const row = Object.fromEntries(cells);
    yield { number: start + at + 1, columns: row, fault: faultOf(row) };
  }
}

/** The same with bytes for texts: the library would drop a U+FEFF, and replace what is no UTF-8. */
function withBytes(library: Library, data: Data): Data {
  const { Binary, BinaryView, DataType, LargeBinary, Vector } = library;
  const { type, offset, length, nullCount, buffers, dictionary } = data;
  if (DataType.isUtf8(type)) return data.clone(new Binary());
  if (DataType.isLargeUtf8(type)) return data.clone(new LargeBinary());
  if (DataType.isUtf8View(type)) return data.clone(new BinaryView());
  const children = data.children.map((child) => withBytes(library, child));
  const copy = data.clone(type, offset, length, nullCount, buffers, children);
  if (dictionary !== undefined) {
    copy.dictionary = new Vector(dictionary.data.map((one) => withBytes(library, one)));
  }
  return copy;
}

/** A list as an array, bytes as the text that they are: what the other formats give. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return textOf(value);
  return isVector(value) ? valuesOf(value) : value;
}

function isVector(value: unknown): value is Vector {
  return typeof value === 'object' && value !== null && 'toArray' in value && 'nullCount' in value;
}

/** The values of a list. What lies in memory is not always a value: of nulls, and of half floats. */
function valuesOf(list: Vector): unknown {
  const stored: unknown = list.nullCount === 0 ? list.toArray() : undefined;
  if (stored instanceof Float32Array || stored instanceof Float64Array) return stored;
  return Array.from({ length: list.length }, (_, at) => plain(list.get(at)));
}
