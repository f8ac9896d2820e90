import { readFileSync } from 'node:fs';

/** The first rows of a two-dimensional array in a .npy file of bytes or half-precision floats. */
export function readRows(path: string, rows: number): number[][] {
  const file = readFileSync(path);
  const dataAt = 10 + file.readUInt16LE(8);
  const header = file.toString('latin1', 10, dataAt);
  const shape = /'shape': \((\d+), (\d+)\)/.exec(header);
  const type = /'descr': '(\|u1|<f2)'/.exec(header)?.[1];
  if (shape === null || type === undefined) throw new Error(`${path} holds ${header}`);
  const width = Number(shape[2]);
  const read =
    type === '|u1'
      ? (index: number) => file.readUInt8(dataAt + index)
      : (index: number) => halfToNumber(file.readUInt16LE(dataAt + 2 * index));
  return Array.from({ length: Math.min(rows, Number(shape[1])) }, (_, row) =>
    Array.from({ length: width }, (__, column) => read(row * width + column)),
  );
}

function halfToNumber(bits: number): number {
  const sign = bits >> 15 === 0 ? 1 : -1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = (bits & 0x3ff) / 1024;
  if (exponent === 0) return sign * fraction * 2 ** -14;
  return sign * (1 + fraction) * 2 ** (exponent - 15);
}
