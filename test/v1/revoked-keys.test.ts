import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createChannel,
  createClient,
  Metadata,
  Status,
  type Channel,
  type Client,
} from 'nice-grpc';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { HealthDefinition } from '../../src/gen/grpc/health/v1/health.js';
import { PointsServiceDefinition, type UpsertRequest } from '../../src/gen/vectord/v1/points.js';
import { makeTemporaryFolder, writeKeys } from '../support/folders.js';
import { startServer } from '../support/server.js';

const STAYS = { role: 'readwrite', key: 'a-key-that-stays' };
const REVOKED = { role: 'readwrite', key: 'a-key-that-is-revoked' };

let keysPath: string;
let stays: Client<typeof PointsServiceDefinition>;
let revoked: Client<typeof PointsServiceDefinition>;
let health: Client<typeof HealthDefinition>;

beforeEach(async () => {
  keysPath = join(makeTemporaryFolder(), 'keys.json');
  writeKeys(keysPath, STAYS, REVOKED);
  const { grpc } = await startServer({ env: { SERVICE_KEYS_FILE: keysPath, LOOPS: '2' } });
  const open = ({ key }: { key: string }): Client<typeof PointsServiceDefinition> => {
    const metadata = Metadata({ authorization: key });
    return createClient(PointsServiceDefinition, channel(grpc), { '*': { metadata } });
  };
  stays = open(STAYS);
  revoked = open(REVOKED);
  health = createClient(HealthDefinition, channel(grpc));
});

/** One that is closed behind the test. */
function channel(address: string): Channel {
  const opened = createChannel(address);
  onTestFinished(() => opened.close());
  return opened;
}

/** A stream of upserts that a test feeds, and how it has ended. */
class Upserts {
  answers = 0;
  readonly end: Promise<unknown>;
  #next: () => void = () => undefined;
  #wanted = 0;
  #isOver = false;

  constructor(client: Client<typeof PointsServiceDefinition>) {
    const read = async (): Promise<undefined> => {
      for await (const { stored } of client.upsertStream(this.#messages())) {
        this.answers += Number(stored);
      }
      return undefined;
    };
    this.end = read().catch((error: unknown) => error);
  }

  send(): void {
    this.#wanted += 1;
    this.#next();
  }

  finish(): void {
    this.#isOver = true;
    this.#next();
  }

  async *#messages(): AsyncGenerator<UpsertRequest> {
    const point = { id: '', vector: [1, 0, 0, 0], content: '', contentType: 0, metadata: '' };
    for (;;) {
      while (this.#wanted > 0) {
        this.#wanted -= 1;
        yield { points: [point], ifAbsent: false, collection: '' };
      }
      if (this.#isOver) return;
      await new Promise<void>((resolve) => (this.#next = resolve));
    }
  }
}

const UNAUTHENTICATED = { code: Status.UNAUTHENTICATED, details: 'The API key is not known' };

test('a stream of upserts ends with its key; others go on, and what it stored stays', async () => {
  const [ended, goesOn] = [new Upserts(revoked), new Upserts(stays)];
  for (const stream of [ended, goesOn]) stream.send();
  await expect.poll(() => [ended.answers, goesOn.answers]).toEqual([1, 1]);
  writeKeys(keysPath, STAYS);
  expect(await ended.end).toMatchObject(UNAUTHENTICATED);
  ended.send();
  goesOn.send();
  await expect.poll(() => goesOn.answers).toBe(2);
  goesOn.finish();
  expect(await goesOn.end).toBeUndefined();
  expect(ended.answers).toBe(1);
  expect(await stays.count({ collection: '' })).toMatchObject({ count: 3n });
});

test('a stream of upserts ends where its key may write no longer', async () => {
  const stream = new Upserts(revoked);
  stream.send();
  await expect.poll(() => stream.answers).toBe(1);
  writeKeys(keysPath, STAYS, { ...REVOKED, role: 'readonly' });
  expect(await stream.end).toMatchObject({ code: Status.PERMISSION_DENIED });
});

test('a scroll that its client reads slowly ends with its key', async () => {
  const vector = [1, 0, 0, 0];
  const rest = { contentType: 0, metadata: '' };
  const points = Array.from({ length: 60 }, () => ({
    ...rest,
    id: '',
    vector,
    content: 'x'.repeat(1_000_000),
  }));
  await stays.upsert({ points, ifAbsent: false, collection: '' });
  const include = { vector: false, content: true, contentType: false, metadata: false };
  const scroll = { after: '', order: 0, include: { ...include, distance: false }, collection: '' };
  const read = async (): Promise<number> => {
    let found = 0;
    for await (const { points: page } of revoked.scrollStream(scroll)) {
      if (found === 0) {
        writeKeys(keysPath, STAYS);
        // Until the key is refused in other calls, which are there at once.
        const isRefused = async (): Promise<boolean> =>
          revoked.info({}).then(
            () => false,
            () => true,
          );
        await vi.waitUntil(isRefused, { timeout: 20_000 });
      }
      found += page.length;
    }
    return found;
  };
  await expect(read()).rejects.toMatchObject(UNAUTHENTICATED);
});

test('a watch of the health needs no key, and goes on', async () => {
  await revoked.info({});
  const abort = new AbortController();
  const seen: unknown[] = [];
  const watch = async (): Promise<void> => {
    for await (const { status } of health.watch({ service: '' }, { signal: abort.signal })) {
      seen.push(status);
    }
  };
  const end = watch().then(
    () => 'ended',
    () => 'aborted',
  );
  await expect.poll(() => seen.length).toBe(1);
  writeKeys(keysPath, STAYS);
  await expect.poll(async () => revoked.info({}).catch(() => 'refused')).toBe('refused');
  expect(await Promise.race([end, sleep(500, 'goes on')])).toBe('goes on');
  abort.abort();
  expect(await end).toBe('aborted');
});
