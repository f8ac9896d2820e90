import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { idFor, type NewPoint } from '../../src/client/node.js';
import { open, type Protocol } from '../client/open.js';
import { Restartable } from '../client/restart.js';
import type { TestServer } from '../support/server.js';
import { PYTHON_CLIENT_PYTHON } from '../support/tools.mjs';
import { installWheel, PYTHON_CLIENT, PYTHON_ENVIRONMENT } from './python-wheel.js';

/** Some by default; a long run sets more, and kills less often. */
const POINTS = Number(process.env['VECTORD_LOAD_POINTS'] ?? 15_000);
const KILL_EVERY_MS = Number(process.env['VECTORD_LOAD_KILL_MS'] ?? 1_500);
const DIMENSION = 128;
const TIMEOUT_MS = 60_000 + POINTS * 5;

/** Stores all points, which are the same in each load. */
type Load = (server: TestServer) => Promise<void>;

/** Kills a service again and again, and starts it anew. */
class Killer {
  kills = 0;
  readonly #isOver = new AbortController();
  readonly #killing: Promise<void>;

  constructor(private readonly service: Restartable) {
    this.#killing = this.#go();
  }

  async #go(): Promise<void> {
    while (!this.#isOver.signal.aborted) {
      await sleep(KILL_EVERY_MS);
      this.kills += 1;
      await this.service.restart();
    }
  }

  /** Resolves once the service runs and is left alone. */
  async stop(): Promise<void> {
    this.#isOver.abort();
    await this.#killing;
  }
}

function* points(): Generator<NewPoint> {
  for (let number = 0; number < POINTS; number += 1) {
    const vector = new Float32Array(DIMENSION).fill(number % 1_000);
    vector[number % DIMENSION] = number;
    yield { id: idFor(String(number)), vector, content: String(number) };
  }
}

function ownClient(protocol: Protocol): Load {
  return async (server) => {
    const client = open(server, protocol, { retries: { maxMs: 500 } });
    expect(await client.bulk(points())).toMatchObject({ points: POINTS });
    client.close();
  };
}

function pythonClient(kind: string, python: string): Load {
  return async ({ grpc, keys }) => {
    const script = join(PYTHON_CLIENT, 'tests/load.py');
    const args = [script, kind, grpc, keys.readwrite, String(POINTS), String(DIMENSION)];
    const load = spawn(python, args, {
      env: PYTHON_ENVIRONMENT,
      stdio: ['ignore', 'inherit', 'pipe'],
    });
    onTestFinished(() => void load.kill('SIGKILL'));
    let errors = '';
    load.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
    expect(await once(load, 'close'), errors).toEqual([0, null]);
  };
}

async function expectAllStored(load: Load): Promise<void> {
  const service = await Restartable.start({ dimension: DIMENSION });
  const killer = new Killer(service);
  let loads = 0;
  for (; loads < 2 || killer.kills < 2; loads += 1) await load(service.server);
  await killer.stop();
  console.log(`${loads} loads, ${killer.kills} kills`);
  const client = open(service.server, 'grpc');
  expect(await client.count()).toBe(POINTS);
  const seen = new Set<string>();
  for await (const { id, content } of client.scroll({ include: ['content'] })) {
    expect(id).toBe(idFor(content ?? ''));
    seen.add(id);
  }
  expect(seen.size).toBe(POINTS);
}

describe(`a load of ${POINTS} points that kill -9 interrupts, done again, ends with as many`, () => {
  test.each(['http', 'grpc'] as const)(
    'by the client for TypeScript over %s',
    async (protocol) => expectAllStored(ownClient(protocol)),
    TIMEOUT_MS,
  );

  describe.skipIf(!existsSync(PYTHON_CLIENT_PYTHON))('by the client for Python', () => {
    let python: string;

    beforeAll(() => {
      ({ python } = installWheel());
    }, TIMEOUT_MS);

    test.each(['sync', 'asyncio'])(
      '%s',
      async (kind) => expectAllStored(pythonClient(kind, python)),
      TIMEOUT_MS,
    );
  });
});
