// The proofs that take hours: kills, faults of a cluster, power cuts, fuzzing, attacks on the oldest and
// the newest Node.js, the quick tests on each that is supported, sanitizers, the models of the threads
// and of a cluster, and mistakes made on purpose. One after the other, as they measure the machine, too;
// what failed is named at the end.
//
// Usage: node scripts/test-long.mjs [part of a name ...]
import { spawnSync } from 'node:child_process';
import process from 'node:process';
import { LONG_FILES, QUICK_ENVIRONMENT, WEEKLY_FILES } from './test-tiers.mjs';

/** The oldest and the newest supported version. */
const NODES = [20, 26];

/** The supported versions besides the one that the project is developed with. */
const OTHER_NODES = [22, 24, 26];

const QUICK = ['node_modules/vitest/vitest.mjs', 'run'].concat(
  [...LONG_FILES, ...WEEKLY_FILES].map((file) => `--exclude=${file}`),
);
const ATTACKS = 'node_modules/vitest/vitest.mjs run test/attacks --no-file-parallelism'.split(' ');

/** Scripts of package.json, without their `test:`. */
const REPEATED =
  'clone model miri tsan asan kill cluster power load properties fuzz schema mutants'.split(' ');

const PROOFS = [
  ...REPEATED.map((name) => ({ name, command: ['npm', 'run', `test:${name}`] })),
  ...NODES.map((version) => ({
    name: `attacks on Node.js ${version}`,
    command: ['npx', '--yes', '--package', `node@${version}`, '--', 'node', ...ATTACKS],
    environment: { VECTORD_ATTACK_SECONDS: '20' },
  })),
  ...OTHER_NODES.map((version) => ({
    name: `quick tests on Node.js ${version}`,
    command: ['npx', '--yes', '--package', `node@${version}`, '--', 'node', ...QUICK],
    environment: QUICK_ENVIRONMENT,
  })),
];

const wanted = process.argv.slice(2);
const isWanted = ({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part));
const failed = [];
let passed = 0;
for (const { name, command, environment } of PROOFS.filter(isWanted)) {
  const [program, ...args] = command;
  console.log(`\n> ${name}: ${command.join(' ')}`);
  const env = { ...process.env, ...environment };
  const { status } = spawnSync(program, args, { stdio: 'inherit', env });
  if (status === 0) passed += 1;
  else failed.push(name);
}
for (const name of failed) console.log(`failed: ${name}`);
console.log(`${passed} passed, ${failed.length} failed`);
process.exitCode = passed > 0 && failed.length === 0 ? 0 : 1;
