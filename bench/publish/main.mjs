// Runs a benchmark and writes what it found into docs/performance: bench/publish.sh.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { BENCHMARKS } from './benchmarks.mjs';
import { machine } from './machine.mjs';
import { markdown } from './markdown.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PUBLISHED = `${ROOT}docs/performance/`;

const [chosen, ...flags] = process.argv.slice(2);
// Named before the first run, which is a load of its own and whose results change the tree.
const about = machine();
const names = chosen === undefined ? Object.keys(BENCHMARKS) : [chosen];
for (const name of names) await publish(name);

async function publish(name) {
  const benchmark = BENCHMARKS[name];
  if (!benchmark) throw new Error(`${name}: expected ${Object.keys(BENCHMARKS).join(', ')}`);
  const results = `${ROOT}bench/results/${name}.json`;
  rmSync(results, { force: true });
  const command = `${ROOT}bench/${name}.sh`;
  const { status } = spawnSync(command, [...benchmark.flags, ...flags], { stdio: 'inherit' });
  if (!existsSync(results)) throw new Error(`${name} found nothing to publish`);
  const { decides, ...report } = JSON.parse(readFileSync(results, 'utf8'));
  if (!decides) throw new Error(`${name}: a run that decides nothing is not published`);
  mkdirSync(PUBLISHED, { recursive: true });
  const found = { machine: about, ...report };
  await write(`${name}.md`, markdown(benchmark.title, found));
  await write(`${name}.json`, JSON.stringify(found));
  // A missed target is published too.
  if (status !== 0) process.exitCode = 1;
}

/** Writes a file in the form that the checks of the project ask for. */
async function write(name, text) {
  const filepath = `${PUBLISHED}${name}`;
  const options = await resolveConfig(filepath);
  writeFileSync(filepath, await format(text, { ...options, filepath }));
  console.log(`published ${filepath}`);
}
