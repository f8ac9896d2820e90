import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { beforeAll, describe, expect, test } from 'vitest';
import { connect } from '../../src/client/node.js';
import { installWheel, runPython } from '../clients/python-wheel.js';
import { startServer, type TestServer } from '../support/server.js';
import {
  EMBEDDINGS_PYTHON,
  findGrpcurl,
  GO_EXAMPLE,
  PYTHON_CLIENT_PYTHON,
} from '../support/tools.mjs';
import { ROOT, run, type Ended } from './run.js';

interface Example {
  /** Its path in examples/. */
  readonly path: string;
  readonly isThere: boolean;
  readonly dimension?: number;
  /** Whether VECTORD_URL names gRPC; HTTP unless told otherwise. */
  readonly overGrpc?: boolean;
  readonly command: () => Command;
  /** What it prints, among other things, in this order. */
  readonly prints: readonly RegExp[];
}

interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Record<string, string>;
}

/** A point of somebody else, far from what the examples look for. */
const STRANGER = '00000000-0000-4000-8000-000000000001';

const TIMEOUT_MS = 120_000;

const hasPython = existsSync(PYTHON_CLIENT_PYTHON);
let python = '';

beforeAll(() => {
  if (hasPython) ({ python } = installWheel());
}, TIMEOUT_MS);

const ANIMALS = [
  /^vectord \d.* with 4 dimensions\n4 stored, 0 replaced\n/,
  /^near: a cat at 0\.009\nnear: a dog at 0\.018\n/m,
  /^near, with less than four legs: a bird, a fish\nlike the cat: a dog\n/m,
  /^updated: a cat \{["']legs["']: ?4, ?["']says["']: ?["']meow["']\}\n/m,
  /^2 with four legs, the oldest first:\n- a dog\n- a cat\n4 deleted\n/m,
  /^NOT_FOUND, retryable: [fF]alse\n$/m,
];

const DOCUMENTS = [
  /^4 documents added\n/,
  /^near: a cat that likes to purr at 0\.001\nnear: a kitten in the sun at 0\.291\n/m,
  /^near, since 2025: a kitten in the sun \{["']year["']: ?2025\}\n/m,
  /^retrieved: langchain\S* soup - soup and bread\n4 documents deleted\n$/m,
];

const EXAMPLES: readonly Example[] = [
  {
    path: 'curl.sh',
    isThere: true,
    command: () => ({ program: 'sh', args: ['examples/curl.sh'] }),
    prints: [
      /^stored:\n.*"stored":3,"replaced":0/,
      /"distance":0\.0087\d*,"content":"a cat"\},.*"distance":0\.018\d*,"content":"a dog"\}\]/,
      /"content":"a bird","metadata":\{"legs":2\}\}\]/,
      /^the nearest to a stored point:\n.*"content":"a dog"\}\]/m,
      /"content":"a cat","metadata":\{"legs":4,"says":"meow"\}\}\]/,
      /"content":"a cat"\},.*"content":"a dog"\}\],"next":null\}\n\{"count":2\}/,
      /^deleted:\n\{"deleted":3,"missing":\[\]\}\n$/m,
    ],
  },
  {
    path: 'grpcurl.sh',
    isThere: findGrpcurl() !== undefined,
    command: () => ({ program: 'sh', args: ['examples/grpcurl.sh'] }),
    prints: [
      /^stored:\n[^}]*"stored": "2"/,
      /"content": "a cat",\s*"distance": 0\.0087/,
      /"content": "a bird",\s*"distance": 0\.779/,
      /^deleted:\n\{\s*"deleted": "2"\s*\}\n$/m,
    ],
  },
  { path: 'points.ts', isThere: true, command: typescript('points.ts'), prints: ANIMALS },
  {
    path: 'points.ts',
    isThere: true,
    overGrpc: true,
    command: typescript('points.ts'),
    prints: ANIMALS,
  },
  { path: 'langchain.ts', isThere: true, command: typescript('langchain.ts'), prints: DOCUMENTS },
  {
    path: 'points.py',
    isThere: hasPython,
    command: () => ({ program: python, args: ['examples/points.py'] }),
    prints: ANIMALS,
  },
  {
    path: 'arrays.py',
    isThere: hasPython,
    command: () => ({ program: python, args: ['examples/arrays.py'] }),
    prints: [
      /^2000 points loaded\n100 of 100 searches find what numpy finds\n/,
      /^read back the same\n2000 deleted\n$/m,
    ],
  },
  {
    path: 'langchain_store.py',
    isThere: hasPython,
    command: () => ({ program: python, args: ['examples/langchain_store.py'] }),
    prints: DOCUMENTS,
  },
  {
    path: 'embeddings/search.py',
    isThere: hasPython && existsSync(EMBEDDINGS_PYTHON),
    dimension: 256,
    command: () => ({
      program: python,
      args: ['examples/embeddings/search.py'],
      env: { PYTHONPATH: packagesOf(EMBEDDINGS_PYTHON) },
    }),
    prints: [
      /^10 texts stored\n/,
      /^I forgot my login -> Choose a new password/m,
      /^where is my package\? -> Your parcel/m,
      /^I want a refund -> Send something back/m,
      /^feline -> A cat/m,
      /^a puppy playing outside -> A dog/m,
      /^the weather forecast -> Heavy rain/m,
      /^musical performance -> The guitarist/m,
      /^astronomy -> The new telescope/m,
      /^10 texts deleted\n$/m,
    ],
  },
  {
    path: 'go',
    isThere: existsSync(GO_EXAMPLE),
    command: () => ({ program: GO_EXAMPLE, args: [] }),
    prints: [/^2 stored, 0 replaced\nnear: a cat at 0\.009\nnear: a bird at 0\.779\n2 deleted\n$/],
  },
];

describe.each([4, 256])('on a service of %i dimensions', (dimension) => {
  const examples = EXAMPLES.filter((example) => (example.dimension ?? 4) === dimension);
  let server: TestServer;

  beforeAll(async () => {
    server = await startServer({ dimension });
    const client = connect(server.http, { key: server.keys.readwrite });
    await client.upsert([{ id: STRANGER, vector: new Float32Array(dimension).fill(-1) }]);
    client.close();
  });

  for (const example of examples) {
    const { path, overGrpc = false, isThere, prints } = example;
    const name = overGrpc ? `${path} over gRPC` : path;

    test.skipIf(!isThere)(`${name} finds what it stored, and deletes it`, async () => {
      const { code, stdout, stderr } = await runExample(server, example, 'readwrite');
      expect(code, stdout + stderr).toBe(0);
      let rest = stdout;
      for (const expected of prints) {
        expect(rest).toMatch(expected);
        rest = rest.slice(rest.search(expected));
      }
      expect(await idsOf(server)).toEqual([STRANGER]);
    });

    test.skipIf(!isThere)(`${name} fails when its key may not write`, async () => {
      const { code, stdout, stderr } = await runExample(server, example, 'readonly');
      expect(code).not.toBe(0);
      expect(stdout + stderr).toMatch(/permission_?denied/i);
      expect(await idsOf(server)).toEqual([STRANGER]);
    });
  }
});

test('embedded.ts finds what it stored when it opens its folder again', async () => {
  const { program, args } = typescript('embedded.ts')();
  const { code, stdout, stderr } = await run(program, args);
  expect(code, stderr).toBe(0);
  expect(stdout).toBe(`360 stored
360 points after opening the folder again
nearest to 90, above it: 91 degrees, 92 degrees
`);
});

test('the page of the examples has all of them', () => {
  const page = readFileSync(join(ROOT, 'examples/README.md'), 'utf8');
  const linked = Array.from(page.matchAll(/^\| \[(\S+?)\]\(\S+\)/gm), ([, name = '']) => name);
  const names = readdirSync(join(ROOT, 'examples')).filter((name) => name !== 'README.md');
  expect(linked.map((name) => name.replace(/\/.*/, '')).toSorted()).toEqual(names.toSorted());
  const tested = [...EXAMPLES.map(({ path }) => path), 'embedded.ts', 'demo', 'vortexdb'];
  expect(linked.toSorted()).toEqual([...new Set(tested)].toSorted());
});

describe.skipIf(!hasPython)('the examples in Python', () => {
  test.each([['check'], ['format', '--check']])('ruff %s finds nothing', async (...args) => {
    const config = ['--no-cache', '--config', 'clients/python/pyproject.toml'];
    const ruff = join(dirname(PYTHON_CLIENT_PYTHON), 'ruff');
    const { code, stdout } = await run(ruff, [...args, ...config, 'examples']);
    expect(code, stdout).toBe(0);
  });
});

/** As the page of the examples says, by esbuild where this Node.js does not run TypeScript. */
function typescript(file: string): () => Command {
  const path = `examples/${file}`;
  if ('typescript' in process.features && process.features.typescript === 'strip') {
    return () => ({ program: process.execPath, args: [path] });
  }
  const script = 'node_modules/.bin/esbuild "$1" --format=esm | "$0" --input-type=module';
  return () => ({ program: 'sh', args: ['-c', script, process.execPath, path] });
}

function packagesOf(program: string): string {
  const script = 'import sysconfig; print(sysconfig.get_path("purelib"))';
  return runPython(['-c', script], program).trim();
}

function runExample(
  { http, grpc, keys }: TestServer,
  { command, overGrpc = false }: Example,
  role: 'readwrite' | 'readonly',
): Promise<Ended> {
  const { program, args, env } = command();
  const url = overGrpc ? `grpc://${grpc}` : http;
  const service = { VECTORD_URL: url, VECTORD_GRPC: grpc, VECTORD_KEY: keys[role] };
  return run(program, args, { env: { ...service, ...env } });
}

/** The ids of all points that a service has. */
async function idsOf({ http, keys }: TestServer): Promise<string[]> {
  const client = connect(http, { key: keys.readonly });
  const { points } = await client.scrollPage({ limit: 10, include: [] });
  client.close();
  return points.map(({ id }) => id);
}
