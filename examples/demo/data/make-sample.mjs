// Makes the sample beside this file from the set that it is part of:
//
//   node examples/demo/data/make-sample.mjs FOLDER
//
// FOLDER holds the files named below and, for each query, the exact 100 nearest rows of the base
// (minilm_gt_cosine.npy and minilm_gt_l2.npy, int32). The same folder gives the same sample.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatNpy, readNpy } from '../npy.mjs';

const BASE_ROWS = 3_000;

/** Rows near each query that the sample holds, under each of two similarities. */
const NEAREST = 20;

/** Queries about things that many people know; the demo shows the first ones. */
const QUERY_ROWS = [
  44, 64, 185, 12, 323, 306, 99, 0, 1, 4, 10, 11, 14, 26, 27, 36, 47, 58, 67, 79, 93, 97, 127, 134,
  138, 156, 162, 180, 202, 213, 226, 235, 264, 294, 318, 365, 401, 406, 421, 482,
];

const [, , from] = process.argv;
if (from === undefined) throw new Error('name the folder that holds the whole set');
const to = import.meta.dirname;

copyRows('minilm_query.f16.npy', 'minilm_query_texts.jsonl', QUERY_ROWS);
copyRows('minilm_base.f16.npy', 'minilm_texts.jsonl', chooseBaseRows());

/** The true neighbours of the queries, filled up with rows spread evenly over the rest. */
function chooseBaseRows() {
  const { rows } = readNpy(join(from, 'minilm_base.f16.npy'), '<f2');
  const near = new Set(['cosine', 'l2'].flatMap(nearestRows));
  const rest = Array.from({ length: rows }, (_, row) => row).filter((row) => !near.has(row));
  const count = BASE_ROWS - near.size;
  const spread = Array.from(
    { length: count },
    (_, n) => rest[Math.floor((n * rest.length) / count)],
  );
  return [...near, ...spread].toSorted((a, b) => a - b);
}

function nearestRows(similarity) {
  const { columns, bytes } = readNpy(join(from, `minilm_gt_${similarity}.npy`), '<i4');
  return QUERY_ROWS.flatMap((query) =>
    Array.from({ length: NEAREST }, (_, place) => bytes.readInt32LE(4 * (query * columns + place))),
  );
}

function copyRows(arrayName, textsName, rows) {
  const { type, columns, bytes } = readNpy(join(from, arrayName), '<f2');
  const values = rows.map((row) => bytes.subarray(2 * columns * row, 2 * columns * (row + 1)));
  const array = { type, rows: rows.length, columns, bytes: Buffer.concat(values) };
  writeFileSync(join(to, arrayName), formatNpy(array));
  const lines = readFileSync(join(from, textsName), 'utf8').split('\n');
  writeFileSync(join(to, textsName), rows.map((row) => `${lines[row]}\n`).join(''));
}
