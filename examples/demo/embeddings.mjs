import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readNpy } from './npy.mjs';

/**
 * Real sentence embeddings, row by row with the text that each stands for.
 * @typedef {object} Embeddings
 * @property {number} dimension
 * @property {readonly string[]} texts
 * @property {(row: number) => number[]} vector
 */

/** @type {(folder: string) => Embeddings} */
export const readBase = (folder) => read(folder, 'minilm_base.f16.npy', 'minilm_texts.jsonl');

/** @type {(folder: string) => Embeddings} */
export const readQueries = (folder) =>
  read(folder, 'minilm_query.f16.npy', 'minilm_query_texts.jsonl');

/**
 * @param {string} folder
 * @param {string} arrayName
 * @param {string} textsName
 * @returns {Embeddings}
 */
function read(folder, arrayName, textsName) {
  const { rows, columns, bytes } = readNpy(join(folder, arrayName), '<f2');
  const texts = readFileSync(join(folder, textsName), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).text);
  if (texts.length !== rows) {
    throw new Error(`${folder}: ${rows} rows in ${arrayName}, ${texts.length} in ${textsName}`);
  }
  return {
    dimension: columns,
    texts,
    vector: (row) =>
      Array.from({ length: columns }, (_, column) =>
        halfToNumber(bytes.readUInt16LE(2 * (row * columns + column))),
      ),
  };
}

/**
 * The value of an IEEE 754 half-precision float: 1 bit sign, 5 bits exponent, 10 bits fraction.
 * @param {number} bits
 */
function halfToNumber(bits) {
  const sign = bits >> 15 === 0 ? 1 : -1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = (bits & 0x3ff) / 0x400;
  // Exponent 31 is for infinities and NaN, which no embedding holds.
  return exponent === 0 ? sign * 2 ** -14 * fraction : sign * 2 ** (exponent - 15) * (1 + fraction);
}
