import type { Row, Source } from '../row.js';
import { TransferError } from '../transfer-error.js';
import { ByteReader } from './byte-reader.js';
import {
  FLOAT16,
  FLOAT32,
  FLOAT64,
  INT16,
  INT32,
  INT64,
  INT8,
  UINT16,
  UINT32,
  UINT64,
  UINT8,
  type ValueType,
} from './numbers.js';

const MAGIC = '\x93NUMPY';

const TYPES: ReadonlyMap<string, ValueType> = new Map([
  ['<f4', FLOAT32],
  ['<f8', FLOAT64],
  ['<f2', FLOAT16],
  ['|u1', UINT8],
  ['|i1', INT8],
  ['<u2', UINT16],
  ['<i2', INT16],
  ['<u4', UINT32],
  ['<i4', INT32],
  ['<u8', UINT64],
  ['<i8', INT64],
]);

/** No header of an array of numbers is longer; a broken length is not followed. */
const MAX_HEADER_BYTES = 1024 * 1024;

interface Header {
  readonly type: ValueType;
  readonly rows: number;
  readonly dimension: number;
}

/** An array of NumPy: a row of it is a vector. */
export async function openNpy(path: string, isGzip: boolean): Promise<Source> {
  const reader = await ByteReader.open(path, isGzip);
  try {
    const { header, bytes } = await readHeader(path, reader);
    const { rows: total, dimension, type } = header;
    const expected = bytes + total * dimension * type.bytes;
    if (!isGzip && reader.size !== expected) {
      throw new TransferError(
        `${path} has ${reader.size} bytes, expected ${expected} by its header: it was cut off, ` +
          'or is still being written',
      );
    }
    return {
      dimension,
      total,
      columns: ['vector'],
      rows: (after) => rowsOf(reader, header, after),
      share: () => reader.share(),
      close: async () => await reader.close(),
    };
  } catch (error) {
    await reader.close();
    throw error;
  }
}

async function* rowsOf(
  reader: ByteReader,
  { type, rows, dimension }: Header,
  after: number,
): AsyncGenerator<Row> {
  const rowBytes = dimension * type.bytes;
  await reader.skip(after * rowBytes);
  for (let number = after + 1; number <= rows; number += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one row after the other
    const row = await reader.take(rowBytes);
    if (row === undefined) throw new TransferError(`row ${number}: the file ends before it`);
    const vector = new Float32Array(dimension);
    type.read(row, vector);
    yield { number, columns: { vector }, fault: faultOf(row, vector, type) };
  }
}

/** What single precision does not have exactly of whole numbers, which nobody asked to round. */
function faultOf(row: Buffer, vector: Float32Array, { exactAt }: ValueType): string | undefined {
  if (exactAt === undefined) return undefined;
  const at = vector.findIndex((value, index) => {
    const exact = exactAt(row, index);
    return typeof exact === 'bigint' ? BigInt(value) !== exact : value !== exact;
  });
  if (at === -1) return undefined;
  return `vector[${at}] is ${exactAt(row, at)}, which no 32-bit float has: scale the values first`;
}

async function readHeader(
  path: string,
  reader: ByteReader,
): Promise<{ header: Header; bytes: number }> {
  const start = await reader.take(8);
  if (start?.toString('latin1', 0, 6) !== MAGIC) {
    throw new TransferError(`${path} does not begin as a .npy file does`);
  }
  const major = start.readUInt8(6);
  if (major < 1 || major > 3) {
    throw new TransferError(`${path} is of version ${major} of .npy, expected 1 to 3`);
  }
  const lengthBytes = major === 1 ? 2 : 4;
  const length = (await reader.take(lengthBytes))?.readUIntLE(0, lengthBytes) ?? 0;
  const text = length <= MAX_HEADER_BYTES ? await reader.take(length) : undefined;
  if (text === undefined) throw new TransferError(`${path} has a header that cannot be read`);
  return {
    header: headerOf(path, text.toString('latin1')),
    bytes: 8 + lengthBytes + length,
  };
}

/** The header is a dictionary of Python with these three members. */
function headerOf(path: string, text: string): Header {
  const descr = /'descr':\s*'([^']*)'/.exec(text)?.[1];
  const type = TYPES.get(descr ?? '');
  if (type === undefined) {
    throw new TransferError(
      `${path} holds values of the type ${descr ?? 'of a record'}, expected one of ` +
        `${[...TYPES.keys()].join(', ')}: array.astype("<f4") makes one`,
    );
  }
  if (!/'fortran_order':\s*False/.test(text)) {
    throw new TransferError(
      `${path} lies in the order of Fortran, expected that of C: numpy.ascontiguousarray makes one`,
    );
  }
  const shape = /'shape':\s*\((\d+),\s*(\d+)\)/.exec(text);
  if (shape === null) {
    const found = /'shape':\s*(\([^)]*\))/.exec(text)?.[1] ?? 'no shape';
    throw new TransferError(`${path} has ${found}, expected two dimensions: rows and values`);
  }
  return { type, rows: Number(shape[1]), dimension: Number(shape[2]) };
}
