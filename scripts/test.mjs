// Runs tests of the project and ends with one line that sums them up.
//
// Usage: node scripts/test.mjs           the quick tier: every part, without its long tests
//        node scripts/test.mjs --beyond  all other tests but the repetitions of `npm run test:long`
//        node scripts/test.mjs --all     both, one after the other
//        node scripts/test.mjs PLACE ... one folder or file, such as test/http, src/grpc,
//                                        crates/engine/src/store or crates/engine/tests/rot.rs
//
// Tests are Rust, TypeScript and the arithmetic of the benchmarks in Python. What they need beside
// Node and Rust (grpcurl, a Python client) is installed meanwhile, into .cache/; where that cannot be
// done, the tests that need it are skipped by name. What failed is named once more above the last
// line: a log often keeps only its end.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { findNatsServer } from '../test/support/tools.mjs';
import {
  CLUSTER_FILES,
  CONTRACT_FILES,
  LONG_FILES,
  LONG_RUST_TESTS,
  QUICK_CRATES,
  QUICK_ENVIRONMENT,
  QUICK_PROGRAMS,
  TWO_LOOP_PLACES,
  WEEKLY_FILES,
} from './test-tiers.mjs';

const ONE_LOOP = { LOOPS: '1' };
const TWO_LOOPS = { LOOPS: '2' };

// Always all of them: for another selection cargo compiles some of them anew, with other features.
const QUICK_PACKAGES = QUICK_CRATES.flatMap((crate) => ['--package', `vectord-${crate}`]);

const ALL_BUT_LONG_FILES = [...LONG_FILES, ...WEEKLY_FILES].map((file) => `--exclude=${file}`);

const totals = { passed: 0, failed: 0, skipped: 0 };
const failedNames = [];
const { values: flags, positionals: places } = parseArgs({
  options: { beyond: { type: 'boolean' }, all: { type: 'boolean' } },
  allowPositionals: true,
});
const isQuick = places.length === 0 && !flags.beyond && !flags.all;

if (!existsSync('dist/main.js')) await run('npm', ['run', 'build']);
// It waits for the network, mostly, while the Rust code is compiled and tested.
const installing = run('node', ['test/support/install.mjs', ...(isQuick ? ['--quick'] : [])]);
if (places.length > 0) {
  await testPlaces();
} else {
  if (!flags.beyond) await testQuickly();
  if (!isQuick) await testBeyond();
}

if (totals.passed + totals.failed + totals.skipped === 0) {
  totals.failed = 1;
  failedNames.push(`no test is in ${places.join(' ')}`);
}
for (const name of failedNames) console.log(`failed: ${name}`);
console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exitCode = totals.failed === 0 ? 0 : 1;

async function testQuickly() {
  const environment = unlessSet(QUICK_ENVIRONMENT);
  const programs = ['--lib', ...QUICK_PROGRAMS.flatMap((name) => ['--test', name])];
  const skipped = LONG_RUST_TESTS.flatMap((name) => ['--skip', name]);
  const command = ['test', '--locked', '--no-fail-fast', ...QUICK_PACKAGES, ...programs];
  await cargoTests('cargo', [...command, '--', ...skipped], environment);
  await vitestTests(ALL_BUT_LONG_FILES, environment);
  for (const folder of ['bench/peers', 'bench/servers']) await benchmarkTests(folder);
}

/** What `npm test` leaves out. */
async function testBeyond() {
  await testBeyondInRust(unlessSet({ PROPTEST_CASES: '64' }));
  await vitestTests(TWO_LOOP_PLACES, TWO_LOOPS);
  const others = LONG_FILES.flatMap(filtersOf).filter(isElsewhere);
  await vitestTests(others, ONE_LOOP);
  await vitestTests(CONTRACT_FILES, { VECTORD_NICE_GRPC: '1', ...ONE_LOOP });
  await clusterTests();
}

async function testBeyondInRust(cases) {
  const test = ['test', '--locked', '--no-fail-fast'];
  const quick = QUICK_CRATES.flatMap((crate) => ['--exclude', `vectord-${crate}`]);
  await cargoTests('cargo', [...test, '--workspace', ...quick, '--lib', '--test', '*'], cases);
  const rest = [...test, ...QUICK_PACKAGES];
  await cargoTests('cargo', [...rest, '--test', 'long'], cases);
  await cargoTests('cargo', [...rest, '--lib', '--', ...LONG_RUST_TESTS], cases);
  // Few schedules, to see in each run that the model still stands; `npm run test:model` tries more.
  const schedules = unlessSet({ VECTORD_MODEL_SCHEDULES: '100' });
  await cargoTests('node', ['scripts/test-model.mjs'], { ...cases, ...schedules });
}

function isElsewhere(path) {
  return !TWO_LOOP_PLACES.some((folder) => path.startsWith(folder));
}

/** Rust files and folders by cargo, each for itself; everything else by one run of vitest. */
async function testPlaces() {
  for (const place of places.filter(isRust)) {
    await cargoTests('cargo', ['test', '--locked', ...rustSelection(place)]);
  }
  const others = places.filter((place) => !isRust(place));
  if (others.length > 0) await vitestTests(others);
}

function isRust(place) {
  return place.startsWith('crates/');
}

/** What cargo calls the tests of a place below crates/. */
function rustSelection(place) {
  const [, crate, part, ...rest] = place.replace(/(?:\/mod)?\.rs$|\/$/, '').split('/');
  const selection = ['--package', `vectord-${crate}`];
  if (part === 'tests' && rest.length > 0) selection.push(...testSelection(crate, rest[0]));
  if (part === 'src') selection.push('--lib');
  if (part === 'src' && rest.length > 0) selection.push(`${rest.join('::')}::`);
  return selection;
}

/** A test program by its name; a file that is a module of one by that. */
function testSelection(crate, name) {
  const folder = join('crates', crate, 'tests');
  const isModuleOf = (program) =>
    new RegExp(`^mod ${name};`, 'm').test(readFileSync(join(folder, program), 'utf8'));
  const program = readdirSync(folder).find((file) => file.endsWith('.rs') && isModuleOf(file));
  return program === undefined
    ? ['--test', name]
    : ['--test', program.replace(/\.rs$/, ''), `${name}::`];
}

async function cargoTests(command, args, environment) {
  const { code, output } = await run(command, args, environment);
  const results = output.matchAll(/^test result: .* (\d+) passed; (\d+) failed; (\d+) ignored/gm);
  let failed = 0;
  for (const [, passes, failures, ignores] of results) {
    totals.passed += Number(passes);
    failed += Number(failures);
    totals.skipped += Number(ignores);
  }
  const names = [...output.matchAll(/^test (.+) \.\.\. FAILED$/gm)].map(([, name]) => name);
  countFailures(failed, names, code, [command, ...args].join(' '));
}

/** One run of vitest, with what is in the environment beside what always is. */
async function vitestTests(selection = [], environment = {}) {
  await installing;
  const folder = mkdtempSync(join(tmpdir(), 'vectord-test-'));
  const report = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const args = ['--no-install', 'vitest', 'run', ...selection, ...reporters];
  const { code } = await run('npx', args, environment);
  const counts = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : {};
  rmSync(folder, { recursive: true });
  totals.passed += counts.numPassedTests ?? 0;
  totals.skipped += (counts.numPendingTests ?? 0) + (counts.numTodoTests ?? 0);
  const settings = settingsText(environment);
  const names = (counts.testResults ?? [])
    .flatMap(namesOfFailed)
    .map((name) => `${settings}${name}`);
  countFailures(counts.numFailedTests ?? 0, names, code, `${settings}vitest`);
}

/** What vitest selects the files of a pattern by: parts of their paths. */
function filtersOf(pattern) {
  const [whole, start, names, end] = /^(.*)\{(.*)\}(.*)$/.exec(pattern) ?? [];
  const paths = whole ? names.split(',').map((name) => `${start}${name}${end}`) : [pattern];
  return paths.map((path) => path.replace(/\*.*$/, ''));
}

/** What a single server promises, on clusters of two shards. */
async function clusterTests() {
  await installing;
  if (findNatsServer() !== undefined) {
    await vitestTests(CLUSTER_FILES, { VECTORD_CLUSTER: '2', ...ONE_LOOP });
    return;
  }
  console.log('skipped: the tests of a single server on clusters of two shards need nats-server');
  totals.skipped += 1;
}

/** The failed tests of a file; the file itself where it failed outside its tests or did not end. */
function namesOfFailed({ name, status, assertionResults }) {
  const file = relative('.', name);
  const pending = assertionResults.filter((test) => test.status === 'pending').length;
  if (pending > 0) return [`${file}, whose process ended before ${pending} of its tests`];
  const failed = assertionResults.filter((test) => test.status === 'failed');
  if (failed.length === 0 && status === 'failed') return [file];
  return failed.map(({ fullName }) => `${file} > ${fullName}`);
}

/**
 * What computes the figures of the benchmarks in this folder: plain Python, without what they
 * compare.
 */
async function benchmarkTests(folder) {
  const tests = `PYTHONPATH=bench/peers python3 -m unittest discover ${folder} 2>&1`;
  const { code, output } = await run('sh', ['-c', `command -v python3 || exit 127; ${tests}`]);
  if (code === 127) {
    console.log(`skipped: the tests of ${folder} need python3`);
    totals.skipped += 1;
    return;
  }
  const ran = Number(/^Ran (\d+) tests?/m.exec(output)?.[1] ?? 0);
  const counts = [...output.matchAll(/(?:failures|errors)=(\d+)/g)];
  const failed = counts.reduce((sum, [, count]) => sum + Number(count), 0);
  totals.passed += Math.max(ran - failed, 0);
  const names = [...output.matchAll(/^(?:FAIL|ERROR): (.+)$/gm)].map(([, name]) => name);
  countFailures(failed, names, code, `the tests of ${folder}`);
}

/** A test program that does not compile or ends its process fails without a count of its own. */
function countFailures(failed, names, code, program) {
  const uncounted = code !== 0 && failed === 0;
  totals.failed += uncounted ? 1 : failed;
  failedNames.push(...names);
  if (uncounted && names.length === 0) failedNames.push(`${program}, which ended with ${code}`);
}

/** The settings, without any that the environment sets. */
function unlessSet(settings) {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !(name in process.env)));
}

function settingsText(environment) {
  return Object.entries(environment)
    .map(([name, value]) => `${name}=${value} `)
    .join('');
}

/** Runs a command to its end, its output shown and kept. */
function run(command, args, environment = {}) {
  console.log(`\n> ${settingsText(environment)}${command} ${args.join(' ')}`);
  return new Promise((resolve, reject) => {
    const env = { ...process.env, ...environment };
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
      process.stdout.write(chunk);
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}
