// What it takes to read a body of JSON into the arrays that the engine takes, beside JSON.parse
// alone, and beside another checkout of vectord, built, whose folder is the argument.
import { readConfig } from '../../dist/config/config.js';
import { PARSERS } from '../../dist/wire/parsers.js';

const ROUNDS = 25;
const DIFFERENT_BODIES = 200;

const doubles = (dimension) => Array.from({ length: dimension }, randomFloat);
/** The shortest texts of the same floats, as other writers have them. */
const shortest = (dimension) => doubles(dimension).map((value) => Number(value.toPrecision(8)));
const query = (vector) => ({ vector, similarity: 'Cosine', limit: 10 });
const point = (vector, index) => ({
  vector,
  payload: { content_type: 'Text', content: `the content of point ${index}` },
});
const batch = (count, dimension) => ({
  vectors: Array.from({ length: count }, (_, index) => point(doubles(dimension), index)),
});

const CASES = [
  ['search of 128 values', 'httpQuery', 128, () => query(doubles(128))],
  ['search of 768 values', 'httpQuery', 768, () => query(doubles(768))],
  ['search of 768 short values', 'httpQuery', 768, () => query(shortest(768))],
  ['batch of 10 points of 128', 'httpPoints', 128, () => batch(10, 128)],
  ['batch of 1,000 points of 128', 'httpPoints', 128, () => batch(1_000, 128), 10],
  ['batch of 1,000 points of 768', 'httpPoints', 768, () => batch(1_000, 768), 4],
];

const [other] = process.argv.slice(2);
const readers = { vectord: PARSERS };
if (other !== undefined) {
  const url = new URL(`file://${other}/dist/wire/parsers.js`);
  readers.other = (await import(url)).PARSERS;
}
const limits = readConfig({});
/** What another state of this repository takes as well. */
const any = { fields: 2 ** 30 - 1, parts: 2 ** 30 - 1 };
console.table(CASES.map((one) => measure(...one)));

function measure(name, parser, dimension, make, count = DIFFERENT_BODIES) {
  const bodies = Array.from({ length: count }, () => Buffer.from(JSON.stringify(make())));
  const rules = { dimension, limits, defaultEf: 100 };
  const ways = { 'JSON.parse': (body) => JSON.parse(body.toString()) };
  for (const [reader, parsers] of Object.entries(readers)) {
    ways[reader] = (body) => parsers[parser](body, rules, any);
  }
  const best = Object.fromEntries(Object.keys(ways).map((way) => [way, Infinity]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [way, read] of Object.entries(ways)) {
      best[way] = Math.min(best[way], microseconds(read, bodies));
    }
  }
  const row = { name, bytes: bodies[0].length };
  for (const [way, us] of Object.entries(best)) row[`${way}, us`] = us.toFixed(1);
  if (best.other !== undefined) row.ratio = (best.vectord / best.other).toFixed(2);
  return row;
}

/** Processor time for one body. */
function microseconds(read, bodies) {
  const before = process.cpuUsage();
  for (const body of bodies) read(body);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / bodies.length;
}

function randomFloat() {
  return Math.fround((Math.random() - 0.5) * (Math.random() - 0.5));
}
