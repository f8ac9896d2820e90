import { bytesOf } from '../../client/float-bytes.js';
import type { FullPoint } from './point-columns.js';
import type { PointWriter } from './writer.js';

/** The header is written again at the end, and has to fit into as many bytes then. */
const NPY_HEADER_BYTES = 128;

/** Magic, version 1.0, and the length of what follows in two bytes. */
const NPY_START = Buffer.from('\x93NUMPY\x01\x00\x00\x00', 'latin1');

/** An array of NumPy: the vectors alone. */
export function npyWriter(dimension: number): PointWriter {
  const headerFor = (points: number): Uint8Array => {
    const start = Buffer.from(NPY_START);
    const length = NPY_HEADER_BYTES - start.length;
    start.writeUInt16LE(length, start.length - 2);
    const text = `{'descr': '<f4', 'fortran_order': False, 'shape': (${points}, ${dimension}), }`;
    return Buffer.concat([start, Buffer.from(`${text.padEnd(length - 1)}\n`, 'latin1')]);
  };
  async function* encode(points: AsyncIterable<FullPoint>): AsyncGenerator<Uint8Array> {
    yield headerFor(0);
    for await (const { vector } of points) yield bytesOf(vector);
  }
  return { hasTexts: true, encode, headerFor };
}

/** Each vector behind the number of its values. */
export const FVECS_WRITER: PointWriter = {
  hasTexts: true,
  async *encode(points) {
    for await (const { vector } of points) {
      const length = Buffer.alloc(4);
      length.writeInt32LE(vector.length);
      yield Buffer.concat([length, bytesOf(vector)]);
    }
  },
};
