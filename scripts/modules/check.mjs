// Fails if files or folders of a crate or of the server use each other in a circle, or a layer of the
// engine or of the server uses one that is not below it.
//
// Usage: node scripts/modules/check.mjs
import { readdirSync } from 'node:fs';
import process from 'node:process';
import { faultsOf } from './faults.mjs';
import { readCrate } from './rust-modules.mjs';
import { readProgram } from './typescript-modules.mjs';

/** From the top down; those of one line do not know each other. */
const ENGINE_LAYERS = [
  ['layers'],
  ['engine'],
  ['index'],
  ['hnsw', 'store'],
  ['vectors'],
  ['sync'],
  ['error', 'metric'],
];

/** The folders of src/, and the one file that is in none. */
const SERVER_LAYERS = [
  ['main.ts'],
  ['cli', 'process', 'langchain', 'embedded', 'console'],
  ['measure'],
  ['transfer'],
  ['http', 'grpc'],
  ['auth', 'cluster', 'wire'],
  ['admission'],
  ['observe'],
  ['config', 'engine', 'client', 'scrape'],
  ['core'],
  ['gen'],
];

/** The other crates have no layers. A binary or a test of several files is a crate, too. */
const OTHER_CRATES = [
  ...foldersIn('crates')
    .filter((crate) => crate !== 'crates/engine')
    .map((crate) => `${crate}/src`),
  ...foldersIn('crates/bench/src/bin'),
  ...foldersIn('crates/bench/tests'),
];

check('crates/engine/src', readCrate('crates/engine/src'), ENGINE_LAYERS);
for (const folder of OTHER_CRATES) check(folder, readCrate(folder));
check('src', readProgram('src'), SERVER_LAYERS);

function foldersIn(folder) {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${folder}/${name}`);
}

function check(folder, uses, layers) {
  const faults = faultsOf(uses, layers);
  for (const fault of faults) console.error(fault);
  console.log(`${folder}: ${uses.size} modules, ${faults.length} faults`);
  if (faults.length > 0) process.exitCode = 1;
}
