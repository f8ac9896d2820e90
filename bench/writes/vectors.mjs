import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readBase, readQueries } from '../../examples/demo/embeddings.mjs';
import { readNpy } from '../../examples/demo/npy.mjs';

export const DIMENSION = 128;
const QUERIES = 500;
const CENTRES = 1_000;

/**
 * Vectors to store and to ask for: those of sift where the folder of real sets has them, else
 * random ones around random centres.
 * @param {string | undefined} folder
 * @param {number} count
 * @returns {{ name: string, base: Float32Array[], queries: Float32Array[] }}
 */
export function readVectors(folder, count) {
  const path = (part) => join(folder ?? '', `sift_${part}.u8.npy`);
  if (folder === undefined || !existsSync(path('base'))) return makeVectors(count);
  return {
    name: 'sift',
    base: readRows(path('base'), count),
    queries: readRows(path('query'), QUERIES),
  };
}

/** Sentence embeddings of 384 values, as many of these as there are. */
export function readEmbeddings(folder, count) {
  const [base, queries] = [readBase(folder), readQueries(folder)].map(({ texts, vector }) =>
    Array.from(texts.slice(0, count), (_, row) => Float32Array.from(vector(row))),
  );
  return { name: 'minilm', base, queries: queries.slice(0, QUERIES) };
}

function readRows(path, count) {
  const { bytes, rows, columns } = readNpy(path, '|u1');
  if (columns !== DIMENSION || rows < count) {
    throw new Error(`${path} is ${rows} x ${columns}, expected ${count} x ${DIMENSION} or more`);
  }
  return Array.from({ length: count }, (_, row) =>
    Float32Array.from(bytes.subarray(row * columns, (row + 1) * columns)),
  );
}

function makeVectors(count) {
  const random = makeRandom(1);
  const below = (limit) => Math.floor(random() * limit);
  const empty = new Float32Array(DIMENSION);
  const centres = Array.from({ length: CENTRES }, () => empty.map(() => below(128)));
  const around = () => centres[below(CENTRES)].map((value) => value + below(64));
  return {
    name: 'synthetic',
    base: Array.from({ length: count }, around),
    queries: Array.from({ length: QUERIES }, around),
  };
}

/** Numbers from 0 to 1, the same ones in every run (mulberry32). */
function makeRandom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}
