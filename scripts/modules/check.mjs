// Fails if files or folders of the engine use each other in a circle, or a layer uses one that is
// not below it.
//
// Usage: node scripts/modules/check.mjs
import process from 'node:process';
import { faultsOf } from './faults.mjs';
import { readCrate } from './rust-modules.mjs';

/** From the top down; those of one line do not know each other. */
const LAYERS = [
  ['layers'],
  ['engine'],
  ['index'],
  ['hnsw', 'store'],
  ['vectors'],
  ['sync'],
  ['error', 'metric'],
];

const uses = readCrate('crates/engine/src');
const faults = faultsOf(uses, LAYERS);
for (const fault of faults) console.error(fault);
console.log(`${uses.size} modules, ${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;
