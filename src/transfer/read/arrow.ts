import { open } from 'node:fs/promises';
import type { RecordBatch, Vector } from 'apache-arrow';
import { messageOf } from '../../core/start-error.js';
import { optional } from '../optional.js';
import type { Row, Source } from '../row.js';
import { TransferError } from '../transfer-error.js';

/** A table of Arrow, as a file (Feather 2) or as a stream: a record batch is in memory at a time. */
export async function openArrow(path: string, needs: (column: string) => boolean): Promise<Source> {
  const { RecordBatchReader } = await optional(
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
    const reader = await RecordBatchReader.from(file);
    await reader.open();
    const names = reader.schema.fields.map(({ name }) => name);
    const batches = 'numRecordBatches' in reader ? Number(reader.numRecordBatches) : undefined;
    async function* rows(after: number): AsyncGenerator<Row> {
      let start = 0;
      try {
        for await (const batch of reader as AsyncIterable<RecordBatch>) {
          yield* rowsOf(batch, names.filter(needs), start, after);
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
    throw unreadable(error);
  }
}

function* rowsOf(
  batch: RecordBatch,
  names: readonly string[],
  start: number,
  after: number,
): Generator<Row> {
  const columns = names.map((name) => [name, batch.getChild(name)] as const);
  for (let at = Math.max(0, after - start); at < batch.numRows; at += 1) {
    const values = columns.map(([name, column]) => [name, plain(column?.get(at))] as const);
    yield { number: start + at + 1, columns: Object.fromEntries(values) };
  }
}

/** A list as an array, a struct as an object: what the other formats give. */
function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isVector(value)) return valuesOf(value);
  if ('toJSON' in value && typeof value.toJSON === 'function' && !(value instanceof Date)) {
    return value.toJSON() as unknown;
  }
  return value;
}

function isVector(value: object): value is Vector {
  return 'toArray' in value && 'nullCount' in value;
}

/** The values of a list. What lies in memory is not always a value: of nulls, and of half floats. */
function valuesOf(list: Vector): unknown {
  const stored: unknown = list.nullCount === 0 ? list.toArray() : undefined;
  if (stored instanceof Float32Array || stored instanceof Float64Array) return stored;
  return Array.from({ length: list.length }, (_, at) => plain(list.get(at)));
}
