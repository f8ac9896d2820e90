import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { makeTemporaryFolder } from '../support/folders.js';
import { startServer, type TestServer } from '../support/server.js';
import { SCHEMATHESIS } from '../support/tools.mjs';

const CONFIG = fileURLToPath(new URL('schemathesis.toml', import.meta.url));

/** Changes bodies that break a rule that no schema can express. */
const HOOKS = fileURLToPath(new URL('schemathesis_hooks.py', import.meta.url));

/** Set by `npm run test:schema`: many requests made up for each operation, and others each time. */
const LONG_EXAMPLES = process.env['VECTORD_SCHEMA_EXAMPLES'];
const isLong = LONG_EXAMPLES !== undefined;

const EXAMPLES = LONG_EXAMPLES ?? '10';
const SEED = process.env['VECTORD_SCHEMA_SEED'] ?? (isLong ? String(randomInt(2 ** 32)) : '1');
const TIMEOUT_MS = isLong ? 6 * 3_600_000 : 300_000;

interface Run {
  /** No finding, no error and no warning. */
  readonly succeeded: boolean;
  /** All that was printed. */
  readonly output: string;
}

/** Lets schemathesis loose on a server. */
function runSchemathesis(server: TestServer, document: string): Promise<Run> {
  const folder = makeTemporaryFolder();
  // A file, because schemathesis leaves out the route that it has its document from.
  const path = join(folder, 'openapi.yaml');
  writeFileSync(path, document);
  const bounds = ['--max-examples', EXAMPLES, '--seed', SEED, '--generation-database', 'none'];
  const args = ['--no-color', '--config-file', CONFIG, 'run', path, '--url', server.http];
  const variables = {
    VECTORD_KEY: server.keys.readwrite,
    SCHEMATHESIS_HOOKS: HOOKS,
    NO_PROXY: '*',
  };
  const env = { ...process.env, ...variables };
  const options = { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve) => {
    execFile(SCHEMATHESIS, [...args, ...bounds], options, (error, stdout, stderr) => {
      resolve({ succeeded: error === null, output: stdout + stderr });
    });
  });
}

test.skipIf(!existsSync(SCHEMATHESIS))(
  'schemathesis finds nothing that contradicts the document, in any phase',
  async () => {
    if (isLong) console.log(`${EXAMPLES} examples, VECTORD_SCHEMA_SEED=${SEED}`);
    const server = await startServer({ dimension: 4 });
    const document = await (await fetch(`${server.http}/docs/openapi.yaml`)).text();
    const { succeeded, output } = await runSchemathesis(server, document);
    expect(succeeded, output).toBe(true);
    for (const phase of ['Examples', 'Coverage', 'Fuzzing', 'Stateful']) {
      expect(output).toMatch(new RegExp(`✅ ${phase}$`, 'm'));
    }
    expect(output).toMatch(/API Links: +[1-9]\d* covered/);
    expect(server.log()).not.toMatch(/"level":"(error|fatal)"/);
    expect(await server.stop()).toBe(0);
  },
  TIMEOUT_MS,
);
