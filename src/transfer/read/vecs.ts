import type { Row, Source } from '../row.js';
import { TransferError } from '../transfer-error.js';
import { ByteReader } from './byte-reader.js';
import { FLOAT32, UINT8, type ValueType } from './numbers.js';

/** The greatest dimension that a service takes. What claims more is no such file. */
const MAX_DIMENSION = 65_536;

const LENGTH_BYTES = 4;

/** Vectors one after the other, each behind the number of its values: .fvecs and .bvecs. */
export async function openVecs(
  path: string,
  isGzip: boolean,
  format: 'fvecs' | 'bvecs',
): Promise<Source> {
  const type = format === 'fvecs' ? FLOAT32 : UINT8;
  const total = isGzip ? undefined : await rowsBySize(path, type);
  const reader = await ByteReader.open(path, isGzip);
  return {
    columns: ['vector'],
    total,
    rows: (after) => rowsOf(path, reader, type, after),
    share: () => reader.share(),
    close: async () => await reader.close(),
  };
}

/** The number of rows, if all are as long as the first one; undefined if they cannot be. */
async function rowsBySize(path: string, type: ValueType): Promise<number | undefined> {
  const reader = await ByteReader.open(path, false);
  try {
    const dimension = (await reader.take(LENGTH_BYTES))?.readInt32LE(0);
    if (dimension === undefined) return 0;
    const rows = reader.size / (LENGTH_BYTES + dimension * type.bytes);
    return isDimension(dimension) && Number.isInteger(rows) ? rows : undefined;
  } finally {
    await reader.close();
  }
}

async function* rowsOf(
  path: string,
  reader: ByteReader,
  type: ValueType,
  after: number,
): AsyncGenerator<Row> {
  for (let number = 1; ; number += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one row after the other
    const dimension = (await reader.take(LENGTH_BYTES))?.readInt32LE(0);
    if (dimension === undefined) return;
    if (!isDimension(dimension)) {
      throw new TransferError(
        `${path}: row ${number} claims ${dimension} values, expected 1 to ${MAX_DIMENSION}: ` +
          'it is no file of that format, or is damaged from there on',
      );
    }
    const rowBytes = dimension * type.bytes;
    if (number <= after) {
      // oxlint-disable-next-line no-await-in-loop -- one row after the other
      await reader.skip(rowBytes);
      continue;
    }
    // oxlint-disable-next-line no-await-in-loop -- one row after the other
    const row = await reader.take(rowBytes);
    if (row === undefined) throw new TransferError(`${path} ends in row ${number}: it was cut off`);
    const vector = new Float32Array(dimension);
    type.read(row, vector);
    yield { number, columns: { vector } };
  }
}

function isDimension(claimed: number): boolean {
  return claimed >= 1 && claimed <= MAX_DIMENSION;
}
