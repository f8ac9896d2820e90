import { readFileSync } from 'node:fs';

/**
 * A two-dimensional array as numpy stores it: rows of `columns` values, one after the other.
 * @typedef {object} NpyArray
 * @property {string} type what numpy calls the type of a value, such as `<f2`
 * @property {number} rows
 * @property {number} columns
 * @property {Buffer} bytes the values
 */

const MAGIC = Buffer.from('\x93NUMPY\x01\x00', 'latin1');
const LENGTH_BYTES = 2;
/** numpy aligns the values to this. */
const ALIGNMENT = 64;

/**
 * Reads an array of values of the given type.
 * @param {string} path
 * @param {string} type
 * @returns {NpyArray}
 */
export function readNpy(path, type) {
  const file = readFileSync(path);
  if (!file.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw new Error(`${path} is not a .npy file of version 1.0`);
  }
  const headerStart = MAGIC.length + LENGTH_BYTES;
  const headerEnd = headerStart + file.readUInt16LE(MAGIC.length);
  const header = file.toString('latin1', headerStart, headerEnd);
  const [, found] = /'descr': '([^']*)'/.exec(header) ?? [];
  const [, rows, columns] = /'shape': \((\d+), (\d+)\)/.exec(header) ?? [];
  if (found !== type || rows === undefined || !header.includes("'fortran_order': False")) {
    throw new Error(`${path} is ${header.trim()}, expected rows of ${type} values in C order`);
  }
  return { type, rows: Number(rows), columns: Number(columns), bytes: file.subarray(headerEnd) };
}

/**
 * The array as the bytes of a .npy file.
 * @param {NpyArray} array
 */
export function formatNpy({ type, rows, columns, bytes }) {
  const header = `{'descr': '${type}', 'fortran_order': False, 'shape': (${rows}, ${columns}), }`;
  const fixedBytes = MAGIC.length + LENGTH_BYTES + 1;
  const padding = (ALIGNMENT - ((fixedBytes + header.length) % ALIGNMENT)) % ALIGNMENT;
  const padded = `${header}${' '.repeat(padding)}\n`;
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt16LE(padded.length);
  return Buffer.concat([MAGIC, length, Buffer.from(padded), bytes]);
}
