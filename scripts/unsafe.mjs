// Runs the engine's tests where mistakes of unsafe code and of threads show that a plain run
// passes over. `miri` interprets the few tests made for it, at every SIMD level that it knows:
// reads out of bounds, values never written, races of plain memory. `thread` and `address` build
// the tests, the standard library included, with ThreadSanitizer or AddressSanitizer, which follow
// mapped files, system calls and long runs.
//
// Usage: node scripts/unsafe.mjs miri | thread | address
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import process from 'node:process';

const AVX2 = '+avx2,+fma,+bmi1,+bmi2,+lzcnt';

/** Processor features to compile for, a run of miri each: the scalar variants, then each SIMD level. */
const LEVELS = {
  x64: ['', AVX2, `${AVX2},+avx512f,+avx512bw,+avx512vnni`],
};

/** Interleavings that miri tries of each test of several threads. */
const SEEDS = '-Zmiri-many-seeds=0..4';

const SOUNDNESS = 'crates/engine/tests/soundness.rs';
/** Its one test of several threads. */
const OF_SEVERAL_THREADS = 'codes_are_read_by_walks_while_more_points_are_stored_and_linked';

/**
 * Tests that do the same in one thread thousands of times, on a disk that fails at each call: they
 * would take an hour under the thread sanitizer, and find no race.
 */
const ONE_THREAD = [
  ...'backup check copy_on_write crash damage failing full repair restore'
    .split(' ')
    .map((name) => `store::tests::${name}`),
  'index::tests::snapshot',
];

/** The tests of the engine from outside that sanitizers follow. */
const FROM_OUTSIDE = ['engine', 'churn', 'soundness', 'stress'];

const CHECKS = { miri, thread: () => sanitize('thread'), address: () => sanitize('address') };

const check = CHECKS[process.argv[2]];
if (check === undefined) fail(`expected one of ${Object.keys(CHECKS).join(', ')}`);
check();

function miri() {
  needComponents('miri', 'rust-src');
  // Cargo says nothing where no test has the name.
  if (!readFileSync(SOUNDNESS, 'utf8').includes(`fn ${OF_SEVERAL_THREADS}()`)) {
    fail(`${SOUNDNESS} has no test ${OF_SEVERAL_THREADS}`);
  }
  for (const features of LEVELS[process.arch] ?? ['']) {
    console.log(`\n> miri, target features: ${features || 'the least of the architecture'}`);
    const environment = features === '' ? {} : { RUSTFLAGS: `-Ctarget-feature=${features}` };
    cargo(['miri', 'test', '--test', 'quick', 'soundness::'], environment);
    const threads = { ...environment, MIRIFLAGS: SEEDS };
    const ofSeveral = ['--exact', `soundness::${OF_SEVERAL_THREADS}`];
    cargo(['miri', 'test', '--test', 'quick'], threads, ofSeveral);
    cargo(['miri', 'test', '--lib', 'index::lives'], threads);
    cargo(['miri', 'test', '--lib', 'sync::table::tests::rows_are_read'], threads);
  }
}

function sanitize(sanitizer) {
  needComponents('rust-src');
  const target = /^host: (.*)$/m.exec(rustc('-vV'))?.[1];
  if (target === undefined) fail('rustc does not say for which host it builds');
  console.log(`\n> ${sanitizer} sanitizer on ${target}`);
  const skipped = sanitizer === 'thread' ? ONE_THREAD : [];
  const runs = [
    { tests: ['--lib'], selection: skipped.flatMap((name) => ['--skip', name]) },
    { tests: ['--test', 'quick'], selection: FROM_OUTSIDE.map((name) => `${name}::`) },
  ];
  const environment = {
    RUSTFLAGS: `-Zsanitizer=${sanitizer}`,
    VECTORD_STRESS_SECONDS: process.env.VECTORD_STRESS_SECONDS ?? '20',
    // Fewer cases: each takes ten times as long.
    PROPTEST_CASES: process.env.PROPTEST_CASES ?? '16',
  };
  for (const { tests, selection } of runs) {
    const command = ['test', '-Zbuild-std', '--target', target, '--no-fail-fast', ...tests];
    cargo(command, environment, selection);
  }
}

/** Runs tests of the engine by cargo and ends this process with its failure. */
function cargo(args, environment, selection = []) {
  const { status, error } = spawnSync(
    'cargo',
    ['+nightly', ...args, '--package', 'vectord-engine', '--', ...selection],
    {
      stdio: 'inherit',
      env: { ...process.env, ...environment },
    },
  );
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

function rustc(...args) {
  return execFileSync('rustc', ['+nightly', ...args], { encoding: 'utf8' });
}

function needComponents(...names) {
  const list = ['component', 'list', '--toolchain', 'nightly', '--installed'];
  const { status, stdout } = spawnSync('rustup', list, { encoding: 'utf8' });
  const installed = status === 0 ? stdout.split('\n') : [];
  const missing = names.filter((name) => !installed.some((line) => line.startsWith(name)));
  if (missing.length > 0) {
    fail(
      `nightly Rust with ${missing.join(' and ')} is needed:\n` +
        `  rustup toolchain install nightly --component ${names.join(' --component ')}`,
    );
  }
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
