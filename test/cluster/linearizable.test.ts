import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { connect } from '../../src/client/node.js';
import { Restartable } from '../client/restart.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { startServer } from '../support/server.js';
import { findPorcupine } from '../support/tools.mjs';
import { check } from './history/check.js';
import { KINDS, type Answer, type Kind, type Operation } from './history/operation.js';
import { outcomeOf } from './history/outcome.js';
import { Workload } from './history/workload.js';

const SEED = Number(process.env['VECTORD_SEED'] ?? Date.now());
const LOAD_MS = 1_500;
/** How long a busy machine may take. */
const PATIENCE_MS = 10_000;

console.log(`VECTORD_SEED=${SEED}`);

const FRESH = { stored: 1, replaced: 0, kept: 0 };
const REPLACED = { stored: 0, replaced: 1, kept: 0 };
const KEPT = { stored: 0, replaced: 0, kept: 1 };

/** On the key `a` unless told otherwise. */
function asked(kind: Kind, start: number, rest: Partial<Operation>) {
  return { process: start, node: 'a node', kind, group: 0, keys: ['a'], start, ...rest };
}

/** An operation that was answered, between two moments. */
function did(
  kind: Kind,
  start: number,
  end: number,
  answer: Answer,
  rest: Partial<Operation> = {},
): Operation {
  return { ...asked(kind, start, rest), outcome: 'ok', answer, end };
}

function wrote(version: number, start: number, end: number, answer: Answer = FRESH): Operation {
  return did('upsert', start, end, answer, { version });
}

function read(version: number, start: number, end: number, kind: Kind = 'get'): Operation {
  return did(kind, start, end, { versions: [version] });
}

/** One that may have taken effect at any time since, or never will. */
function unknown(kind: Kind, start: number, rest: Partial<Operation> = {}): Operation {
  return { ...asked(kind, start, rest), outcome: 'unknown', code: 'TIMEOUT' };
}

function failed(kind: Kind, start: number, end: number, rest: Partial<Operation>): Operation {
  return { ...asked(kind, start, rest), outcome: 'failed', code: 'UNAVAILABLE', end };
}

const BOTH = { keys: ['a', 'b'] };
const ONLY_B = { keys: ['b'] };

const LINEARIZABLE: Readonly<Record<string, readonly Operation[]>> = {
  'each read finds the last write': [
    wrote(1, 1, 2),
    read(1, 3, 4),
    wrote(2, 5, 6, REPLACED),
    read(2, 7, 8, 'search'),
    did('delete', 9, 10, { deleted: [true] }),
    read(0, 11, 12),
    did('delete', 13, 14, { deleted: [false] }),
  ],
  'a read beside a write finds it or not': [wrote(1, 1, 9), read(0, 2, 3), read(1, 4, 5)],
  'an insert keeps what is there': [
    did('insert', 1, 2, FRESH, { version: 1 }),
    did('insert', 3, 4, KEPT, { version: 2 }),
    read(1, 5, 6),
  ],
  'a write without an answer takes effect late': [
    unknown('upsert', 1, { version: 1 }),
    read(0, 3, 4),
    wrote(2, 5, 6),
    read(2, 7, 8),
    read(1, 9, 10),
  ],
  'a write without an answer never takes effect': [
    unknown('upsert', 1, { version: 1 }),
    read(0, 3, 4),
  ],
  'a delete without an answer takes effect late': [
    wrote(1, 1, 2),
    unknown('delete', 3),
    read(1, 5, 6),
    read(0, 7, 8),
  ],
  'a get of several points beside a batch finds a part of it': [
    did('upsert', 1, 9, { stored: 2, replaced: 0, kept: 0 }, { version: 1, ...BOTH }),
    did('get', 2, 3, { versions: [1, 0] }, BOTH),
  ],
};

const NOT_LINEARIZABLE: Readonly<Record<string, readonly Operation[]>> = {
  'an acknowledged write is lost': [wrote(1, 1, 2), read(0, 3, 4)],
  'an acknowledged write is lost to a search': [wrote(1, 1, 2), read(0, 3, 4, 'search')],
  'an acknowledged write of a batch is lost': [
    did('upsert', 1, 2, { stored: 2, replaced: 0, kept: 0 }, { version: 1, ...BOTH }),
    did('get', 3, 4, { versions: [1, 0] }, BOTH),
  ],
  'a read is stale': [wrote(1, 1, 2), wrote(2, 3, 4, REPLACED), read(1, 5, 6)],
  'reads beside a write go back': [
    wrote(1, 1, 2),
    wrote(2, 3, 10, REPLACED),
    read(2, 4, 5),
    read(1, 6, 7),
  ],
  'a delete is undone': [
    wrote(1, 1, 2),
    did('delete', 3, 4, { deleted: [true] }),
    read(0, 5, 6),
    read(1, 7, 8),
  ],
  'a delete misses what is there': [wrote(1, 1, 2), did('delete', 3, 4, { deleted: [false] })],
  'an upsert replaces what is not there': [wrote(1, 1, 2, REPLACED)],
  'an insert replaces': [wrote(1, 1, 2), did('insert', 3, 4, KEPT, { version: 2 }), read(2, 5, 6)],
  'a write without an answer takes effect, and then not': [
    unknown('upsert', 1, { version: 1 }),
    read(1, 3, 4),
    read(0, 5, 6),
  ],
  'a write without an answer takes effect twice': [
    unknown('upsert', 1, { version: 1 }),
    read(1, 3, 4),
    did('delete', 5, 6, { deleted: [true] }),
    read(1, 7, 8),
  ],
  'a write that was refused takes effect': [failed('upsert', 1, 2, { version: 1 }), read(1, 3, 4)],
  'what is read was never written': [wrote(1, 1, 2), read(-1, 3, 4)],
  'half a batch is there': [
    unknown('upsert', 1, { version: 1, ...BOTH }),
    read(1, 3, 4),
    did('get', 5, 6, { versions: [0] }, ONLY_B),
  ],
  'a search of several points beside a batch finds a part of it': [
    did('upsert', 1, 9, { stored: 2, replaced: 0, kept: 0 }, { version: 1, ...BOTH }),
    did('search', 2, 3, { versions: [1, 0] }, BOTH),
  ],
};

/** What the checker says of a history that was made up. */
async function verdictOn(operations: readonly Operation[]) {
  const path = join(makeTemporaryFolder(), 'history.jsonl');
  writeFileSync(path, operations.map((operation) => `${JSON.stringify(operation)}\n`).join(''));
  return await check(path);
}

describe.skipIf(findPorcupine() === undefined)('the checker', () => {
  test.each(Object.entries(LINEARIZABLE))('accepts a history in which %s', async (_, history) => {
    const { isLinearizable, report } = await verdictOn(history);
    expect(isLinearizable, report).toBe(true);
  });

  test.each(Object.entries(NOT_LINEARIZABLE))(
    'refuses a history in which %s',
    async (_, history) => {
      const { isLinearizable, report } = await verdictOn(history);
      expect(isLinearizable).toBe(false);
      expect(report).toMatch(/^not linearizable in 1 of 1 groups of keys$/m);
    },
  );

  test('shows the operation that does not fit after what it contradicts, and no other', async () => {
    const others = Array.from({ length: 50 }, (_, at) => read(2, 5 + at, 6 + at));
    const history = [wrote(1, 1, 2), wrote(2, 3, 4, REPLACED), ...others, read(1, 90, 91)];
    const { report } = await verdictOn([...history, read(2, 95, 96)]);
    expect(report.match(/(?:upsert|get) a.*$/gm)).toEqual([
      'upsert a version 1: 1 stored, 0 replaced, 0 kept',
      'upsert a version 2: 0 stored, 1 replaced, 0 kept',
      'get a: versions [1]',
    ]);
  });

  test('refuses a file that it cannot read', async () => {
    const path = join(makeTemporaryFolder(), 'history.jsonl');
    writeFileSync(path, '{"outcome":"perhaps"}\n');
    const { isLinearizable, report } = await check(path);
    expect(isLinearizable).toBe(false);
    expect(report).toMatch(/line 1: no outcome is "perhaps"/);
  });
});

describe.skipIf(findPorcupine() === undefined)('a workload', () => {
  test('finds a service linearizable that is killed and started again', async () => {
    const service = await Restartable.start();
    const workload = Workload.start([service.server], { seed: SEED });
    await runs(workload);
    await service.kill();
    await service.startAgain();
    await runs(workload);
    const { path, counts, unread } = await workload.stop();
    const hasFailed = KINDS.some((kind) => counts[kind].failed + counts[kind].unknown > 0);
    expect(hasFailed).toBe(true);
    expect(unread).toBe(0);
    const { isLinearizable, report } = await check(path);
    expect(isLinearizable, report).toBe(true);
    console.log(report);
  });

  test('finds two services that know nothing of each other not linearizable', async () => {
    const services = await Promise.all([startServer(), startServer()]);
    const workload = Workload.start(services, { seed: SEED });
    await sleep(LOAD_MS / 3);
    const { path } = await workload.stop();
    const { isLinearizable, report } = await check(path);
    expect(isLinearizable).toBe(false);
    expect(report).toMatch(/^not linearizable in \d+ of \d+ groups of keys$/m);
  });
});

/** What takes a request and breaks its connection. */
const BREAKING = {
  http: () => createServer(({ socket }) => socket.destroy()),
  grpc: () => createHttp2Server().on('stream', ({ session }) => session?.destroy()),
};

test.each(['http', 'grpc'] as const)(
  'an operation over %s is unknown if its connection breaks, and has failed if there was none',
  async (protocol) => {
    const server = BREAKING[protocol]().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const client = connect(`${protocol}://127.0.0.1:${port}`, { retries: { attempts: 1 } });
    const outcome = async () => outcomeOf(await client.count().catch((error: unknown) => error));
    expect(await outcome()).toEqual({ outcome: 'unknown', code: 'CONNECTION_LOST' });
    server.close();
    await once(server, 'close');
    expect(await outcome()).toEqual({ outcome: 'failed', code: 'CONNECTION_LOST' });
    client.close();
  },
);

/** Lets it go on for a while, and until more operations of each kind have succeeded. */
async function runs(workload: Workload): Promise<void> {
  const before = structuredClone(workload.counts);
  const isDone = (kind: Kind) => workload.counts[kind].ok > before[kind].ok + 10;
  await sleep(LOAD_MS);
  await vi.waitUntil(() => KINDS.every(isDone), { timeout: PATIENCE_MS });
}
