import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatNpy } from '../../examples/demo/npy.mjs';
import { DIMENSION, readEmbeddings, readVectors } from '../writes/vectors.mjs';

/**
 * Points and queries, in files that the engine reads and as numbers.
 * @typedef {object} Set
 * @property {string} name
 * @property {string} metric
 * @property {string} basePath
 * @property {string} queryPath
 * @property {Float32Array[]} base
 * @property {Float32Array[]} queries
 * @property {number} points
 */

/** Those of the folder, or random ones. @returns {Set[]} */
export function readSets(folder, points) {
  const vectors = readVectors(folder, points);
  const has = (name) => folder !== undefined && existsSync(join(folder, name));
  const sets = [];
  if (vectors.name === 'sift') sets.push(asSet(vectors, 'Euclidean', folder, 'u8'));
  else sets.push(asSet(vectors, 'Euclidean', writeBytes(vectors), 'u8'));
  if (has('minilm_base.f16.npy')) {
    sets.push(asSet(readEmbeddings(folder, points), 'Cosine', folder, 'f16'));
  }
  return sets;
}

function asSet({ name, base, queries }, metric, folder, type) {
  const path = (part) => join(folder, `${name}_${part}.${type}.npy`);
  const paths = { basePath: path('base'), queryPath: path('query') };
  return { name, metric, ...paths, base, queries, points: base.length };
}

/** Writes random vectors, whose values are bytes, into a folder that is gone at the end. */
function writeBytes({ name, base, queries }) {
  const folder = mkdtempSync(join(tmpdir(), 'vectord-six-'));
  process.once('exit', () => rmSync(folder, { recursive: true }));
  for (const [part, rows] of Object.entries({ base, query: queries })) {
    const bytes = Buffer.concat(rows.map((row) => Buffer.from(row)));
    const array = { type: '|u1', rows: rows.length, columns: DIMENSION, bytes };
    writeFileSync(join(folder, `${name}_${part}.u8.npy`), formatNpy(array));
  }
  return folder;
}
