// Whether one checkout is slower than another, by six figures: bench/six.sh, and bench/README.md says
// how to read the results.
import { mkdirSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { machine } from '../publish/machine.mjs';
import { markdown } from '../publish/markdown.mjs';
import { spread } from '../writes/spread.mjs';
import { measureGraphs } from './graphs.mjs';
import { judge } from './judge.mjs';
import { measureServices } from './services.mjs';
import { readSets } from './sets.mjs';

const RESULTS = fileURLToPath(new URL('../results/', import.meta.url));

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    data: { type: 'string', default: process.env.VECTORD_DATA },
    pairs: { type: 'string', default: '15' },
    short: { type: 'boolean', default: false },
  },
});
const [older, newer] = positionals.map((path) => resolve(path));
const pairs = flags.short ? 3 : Number(flags.pairs);
const points = flags.short ? 5_000 : 100_000;
const about = machine();
const sets = readSets(flags.data, points);
// The older one takes part twice: how it differs from itself is the noise.
const builds = [
  { name: 'older', root: older },
  { name: 'older again', root: older },
  { name: 'newer', root: newer },
];

const figures = [];
for (const set of sets) figures.push(...(await measureGraphs(builds, set, inTurns)));
figures.push(...(await measureServices(builds, sets[0], inTurns)));
report();

/** Measures each in turns, in another order each time, and answers the values of each in order. */
async function inTurns(subjects, measure) {
  const values = subjects.map(() => []);
  for (let pair = -1; pair < pairs; pair += 1) {
    const from = (pair + 1) % subjects.length;
    const order = [...subjects.keys()].map((_, at) => (from + at) % subjects.length);
    for (const at of pair % 2 === 0 ? order : order.toReversed()) {
      const value = await measure(subjects[at], pair);
      // The first turn finds caches and code that are not warm yet.
      if (pair >= 0) values[at].push(value);
    }
  }
  return values;
}

function report() {
  const verdicts = figures.map(({ what, values }) => ({ what, ...judge(values) }));
  const rows = figures.map(({ what, unit, values: [first, again, next] }) => ({
    figure: `${what}, ${unit}`,
    older: spread(first, 3),
    'older again': spread(again, 3),
    newer: spread(next, 3),
  }));
  const settings = {
    older,
    newer,
    data: sets.map(({ name, points: count }) => `${name}, ${count} points`).join('; '),
    turns: `${pairs}, in another order each time; the median, the least and the most`,
  };
  const tables = [{ title: 'Processor time', rows }];
  const found = { settings, tables, verdicts, decides: !flags.short };
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(`${RESULTS}six.json`, `${JSON.stringify(found, undefined, 1)}\n`);
  console.log(markdown('Newer over older', { machine: about, ...found }));
  process.exitCode = verdicts.some(({ met }) => !met) && !flags.short ? 1 : 0;
}
