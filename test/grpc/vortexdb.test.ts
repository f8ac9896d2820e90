import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startServer } from '../support/server.js';
import { VORTEXDB_PYTHON } from '../support/tools.mjs';

const SCRIPT = fileURLToPath(new URL('./vortexdb_client.py', import.meta.url));

test.skipIf(!existsSync(VORTEXDB_PYTHON))(
  'the published Python client vortexdb 0.1.0 works unchanged, synchronous and asynchronous',
  async () => {
    const server = await startServer({ dimension: 4 });
    const { readwrite, readonly } = server.keys;
    const args = [SCRIPT, server.grpc, readwrite, readonly];
    const { stdout } = await promisify(execFile)(VORTEXDB_PYTHON, args);
    expect(stdout.split('\n')).toEqual([
      'synchronous client: as expected',
      'asynchronous client: as expected',
      '',
    ]);
    expect(await server.stop()).toBe(0);
  },
);
