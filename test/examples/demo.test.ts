import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { beforeEach, expect, test } from 'vitest';
import { makeTemporaryFolder } from '../support/folders.js';
import { ROOT, run } from './run.js';

const DEMO = 'examples/demo/main.mjs';

/** Where the demo puts its data folder, so that we see what it leaves behind. */
let temporaryFolder: string;

beforeEach(() => {
  temporaryFolder = makeTemporaryFolder();
});

test('the demo finds sensible texts, the same ones over both interfaces', async () => {
  const { code, stdout, stderr } = await run(process.execPath, [DEMO], { env: environment() });
  expect(code, stdout + stderr).toBe(0);
  expect(stdout).toContain('3,000 embeddings');
  expect(stdout).toMatch(/^lame: MP3 encoding.*\n {2}Cosine .*\n {4}1\. libmp3lame0: /m);
  expect(stdout).toContain('the same answer in 10 of 10 searches');
  expect(readdirSync(temporaryFolder)).toEqual([]);
});

test('the demo cleans up when it is interrupted', async () => {
  const options = { cwd: ROOT, env: { ...process.env, ...environment() } };
  const demo = spawn(process.execPath, [DEMO], options);
  demo.stdout.on('data', (text: Buffer) => {
    if (text.includes('vectord is ready')) demo.kill('SIGINT');
  });
  const [code] = await once(demo, 'exit');
  expect(code).toBe(130);
  expect(readdirSync(temporaryFolder)).toEqual([]);
});

test.each([
  [['--data', 'no/such/folder'], /^demo: .*no\/such\/folder/],
  [['--unknown'], /^demo: .*--unknown/],
])('the demo refuses %j and says why', async (args, message) => {
  const { code, stderr } = await run(process.execPath, [DEMO, ...args], { env: environment() });
  expect(code).toBe(1);
  expect(stderr).toMatch(message);
});

function environment(): Record<string, string> {
  return { TMPDIR: temporaryFolder };
}
