import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { makeCertificate } from '../support/certificates.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { startServer } from '../support/server.js';
import { PYTHON_CLIENT_PYTHON, PYTHON_PROTOC } from '../support/tools.mjs';
import {
  clientVersion,
  installWheel,
  PYTHON_CLIENT,
  PYTHON_ENVIRONMENT,
  runPython,
} from './python-wheel.js';

const TESTS = join(PYTHON_CLIENT, 'tests');
const FILES = readdirSync(TESTS).filter((name) => /^test_.*\.py$/.test(name));
const GENERATED = join(PYTHON_CLIENT, 'src/vectord_client/_generated');
const TIMEOUT_MS = 120_000;

describe.skipIf(!existsSync(PYTHON_CLIENT_PYTHON))('the Python client', () => {
  let python: string;
  let wheel: string;
  let services: Record<string, string>;

  beforeAll(async () => {
    ({ python, wheel } = installWheel());
    services = await startServices();
  }, TIMEOUT_MS);

  test('is a wheel with its types that runs from where it is installed', () => {
    const names = runPython(['-m', 'zipfile', '--list', wheel]);
    expect(names).toContain('vectord_client/py.typed');
    expect(names).toContain('vectord_client/_generated/points_pb2.pyi');
    expect(names).not.toContain('tests');
    const place = runPython(
      ['-c', 'import vectord_client; print(vectord_client.__file__)'],
      python,
    );
    expect(place).toContain(dirname(dirname(python)));
  });

  test.each(FILES)(
    '%s',
    async (file) => {
      const args = ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', join(TESTS, file)];
      const { code, output } = await run(python, args, services);
      expect(code, output).toBe(0);
      expect(output).toMatch(/^[1-9]\d* passed in /m);
    },
    TIMEOUT_MS,
  );

  test.each([['check'], ['format', '--check']])('ruff %s finds nothing', async (...args) => {
    const ruff = join(dirname(PYTHON_CLIENT_PYTHON), 'ruff');
    const { code, output } = await run(ruff, [...args, '--no-cache', PYTHON_CLIENT]);
    expect(code, output).toBe(0);
  });
});

test('the Python client has the version of the service', () => {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  expect(clientVersion()).toBe(JSON.parse(manifest).version);
});

test.skipIf(!existsSync(PYTHON_PROTOC))(
  'the messages of the Python client are those that generate.sh makes',
  async () => {
    const folder = makeTemporaryFolder();
    const { code, output } = await run(join(PYTHON_CLIENT, 'generate.sh'), [folder]);
    expect(code, output).toBe(0);
    const names = readdirSync(folder);
    expect(names).toEqual(['points_pb2.py', 'points_pb2.pyi']);
    for (const name of names) {
      const [committed, made] = [GENERATED, folder].map((at) =>
        readFileSync(join(at, name), 'utf8'),
      );
      expect(made).toBe(committed);
    }
  },
);

/** The services that the tests of the client need, as they ask for them. */
async function startServices(): Promise<Record<string, string>> {
  const folder = makeTemporaryFolder();
  const path = (name: string): string => join(folder, name);
  const authority = makeCertificate('clients');
  const pairs = {
    server: makeCertificate('server'),
    client: makeCertificate('client', { issuer: authority }),
  };
  writeFileSync(path('clients.pem'), authority.cert);
  for (const [name, { cert, key }] of Object.entries(pairs)) {
    writeFileSync(path(`${name}.pem`), cert);
    writeFileSync(path(`${name}.key`), key, { mode: 0o600 });
  }
  const tls = {
    TLS_CERT: path('server.pem'),
    TLS_KEY: path('server.key'),
    TLS_CLIENT_CA: path('clients.pem'),
  };
  const small = {
    MAX_REQUEST_BYTES: '8192',
    MAX_BATCH: '10',
    MAX_INFLIGHT_BYTES: '20000',
    MAX_FILTER_INDEX_BYTES: '1',
  };
  const main = await startServer({ env: { WARM_METRICS: 'Hamming' } });
  return {
    VECTORD_ADDRESS: main.grpc,
    VECTORD_KEY: main.keys.readwrite,
    VECTORD_READONLY_KEY: main.keys.readonly,
    VECTORD_LANGCHAIN_ADDRESS: (await startServer({ dimension: 6 })).grpc,
    VECTORD_SMALL_ADDRESS: (await startServer({ env: small })).grpc,
    VECTORD_TLS_ADDRESS: (await startServer({ env: tls })).grpc.replace(' (TLS)', ''),
    VECTORD_TLS_CA: path('server.pem'),
    VECTORD_TLS_CERT: path('client.pem'),
    VECTORD_TLS_KEY: path('client.key'),
  };
}

/** Runs a program to its end; answers how it ended and all that it wrote. */
function run(
  program: string,
  args: readonly string[],
  services: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number; readonly output: string }> {
  const env = { ...PYTHON_ENVIRONMENT, ...services };
  return new Promise((resolve) => {
    execFile(program, args, { cwd: PYTHON_CLIENT, env }, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : error === null ? 0 : -1;
      resolve({ code, output: stdout + stderr });
    });
  });
}
