// Runs every test of the project, Rust, TypeScript and the arithmetic of the benchmarks in Python,
// and ends with one line that sums them up.
// What the tests need beside Node and Rust (grpcurl, a Python client) is installed first, into
// .cache/; where that cannot be done, the tests that need it are skipped by name.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const totals = { passed: 0, failed: 0, skipped: 0 };

if (!existsSync('dist/main.js')) await run('npm', ['run', 'build']);
await run('node', ['test/support/install.mjs']);
await cargoTests('cargo', ['test', '--workspace', '--locked', '--no-fail-fast']);
// Few schedules, to see in each run that the model still stands; `npm run test:model` tries more.
process.env.VECTORD_MODEL_SCHEDULES ??= '100';
await cargoTests('node', ['scripts/test-model.mjs']);
await vitestTests();
for (const folder of ['bench/peers', 'bench/servers']) await benchmarkTests(folder);

console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exitCode = totals.failed === 0 ? 0 : 1;

async function cargoTests(command, args) {
  const { code, output } = await run(command, args);
  const results = output.matchAll(/^test result: .* (\d+) passed; (\d+) failed; (\d+) ignored/gm);
  let failed = 0;
  for (const [, passes, failures, ignores] of results) {
    totals.passed += Number(passes);
    failed += Number(failures);
    totals.skipped += Number(ignores);
  }
  // A test that does not compile or ends its process fails without being counted.
  totals.failed += code !== 0 && failed === 0 ? 1 : failed;
}

async function vitestTests() {
  const folder = mkdtempSync(join(tmpdir(), 'vectord-test-'));
  const report = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const { code } = await run('npx', ['--no-install', 'vitest', 'run', ...reporters]);
  const counts = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : {};
  rmSync(folder, { recursive: true });
  totals.passed += counts.numPassedTests ?? 0;
  totals.skipped += (counts.numPendingTests ?? 0) + (counts.numTodoTests ?? 0);
  const failed = counts.numFailedTests ?? 0;
  totals.failed += code !== 0 && failed === 0 ? 1 : failed;
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
  const failures = [...output.matchAll(/(?:failures|errors)=(\d+)/g)];
  const failed = failures.reduce((sum, [, count]) => sum + Number(count), 0);
  totals.passed += Math.max(ran - failed, 0);
  totals.failed += code !== 0 && failed === 0 ? 1 : failed;
}

/** Runs a command to its end, its output shown and kept. */
function run(command, args) {
  console.log(`\n> ${command} ${args.join(' ')}`);
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
      process.stdout.write(chunk);
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}
