import { existsSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { findGrpcurl, VORTEXDB_PYTHON } from '../support/tools.mjs';
import { idsIn, run } from './run.js';

let server: TestServer;

beforeAll(async () => {
  server = await startServer({ dimension: 4 });
});

const EXAMPLES = [
  { file: 'curl.sh', program: 'sh', isThere: true },
  { file: 'grpcurl.sh', program: 'sh', isThere: findGrpcurl() !== undefined },
  { file: 'node-http.mjs', program: process.execPath, isThere: true },
  { file: 'node-grpc.mjs', program: process.execPath, isThere: true },
  { file: 'python_client.py', program: VORTEXDB_PYTHON, isThere: existsSync(VORTEXDB_PYTHON) },
];

for (const { file, program, isThere } of EXAMPLES) {
  test.skipIf(!isThere)(`${file} stores, finds, fetches and deletes points`, async () => {
    const { code, stdout, stderr } = await runExample(program, file, server.keys.readwrite);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('a cat on a mat');
    const [cat, dog, bird, nearest] = idsIn(stdout);
    expect(nearest).toBe(cat);
    expect(idsIn(stdout).at(-1)).toBe(cat);
    expect(await statusOf(cat)).toBe(404);
    expect(await statusOf(dog)).toBe(200);
    expect(await statusOf(bird)).toBe(200);
  });

  test.skipIf(!isThere)(`${file} fails when its key may not write`, async () => {
    const { code } = await runExample(program, file, server.keys.readonly);
    expect(code).not.toBe(0);
  });
}

function runExample(program: string, file: string, key: string) {
  const env = { VECTORD_HTTP: server.http, VECTORD_GRPC: server.grpc, VECTORD_KEY: key };
  return run(program, [`examples/vortexdb/${file}`], { env });
}

async function statusOf(id = ''): Promise<number> {
  const headers = { 'api-key': server.keys.readonly };
  const response = await fetch(`${server.http}/points/${id}`, { headers });
  await response.text();
  return response.status;
}
