// Fails if files or folders of the engine or of the server use each other in a circle, or a layer
// uses one that is not below it.
//
// Usage: node scripts/modules/check.mjs
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
  ['cli', 'process'],
  ['http', 'grpc'],
  ['auth', 'admission', 'wire'],
  ['observe'],
  ['config', 'engine'],
  ['core'],
  ['gen'],
];

check('crates/engine/src', readCrate('crates/engine/src'), ENGINE_LAYERS);
check('src', readProgram('src'), SERVER_LAYERS);

function check(folder, uses, layers) {
  const faults = faultsOf(uses, layers);
  for (const fault of faults) console.error(fault);
  console.log(`${folder}: ${uses.size} modules, ${faults.length} faults`);
  if (faults.length > 0) process.exitCode = 1;
}
