import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { BulkProgress, Client, NewPoint } from '../../src/client/node.js';
import { startServer, type TestServer } from '../support/server.js';
import { all, expectFailure, id, open, PROTOCOLS } from './open.js';
import { Restartable } from './restart.js';

/** What a batch of these tests holds. */
const BATCH = 10;

function point(number: number, content = String(number)): NewPoint {
  return { id: id(number), vector: [number, 1], content };
}

function* points(count: number): Generator<NewPoint> {
  for (let number = 1; number <= count; number += 1) yield point(number);
}

/** The points of a service: of each id the content, and nothing twice. */
async function contentsOf(client: Client): Promise<Map<string, string | undefined>> {
  const found = await all(client.scroll({ include: ['content'] }));
  const contents = new Map(found.map((one) => [one.id, one.content]));
  expect(contents.size).toBe(found.length);
  return contents;
}

function numbers(count: number): Map<string, string> {
  return new Map(Array.from(points(count), (_, at) => [id(at + 1), String(at + 1)]));
}

let server: TestServer;

beforeAll(async () => {
  const env = { MAX_BATCH: String(BATCH), MAX_REQUEST_BYTES: '10000' };
  server = await startServer({ dimension: 2, env });
});

describe.each(PROTOCOLS)('over %s', (protocol) => {
  let client: Client;

  beforeEach(async () => {
    client = open(server, protocol);
    // Batches of a load that has failed may still be under way.
    await vi.waitFor(async () => {
      await client.deleteAll(await client.count());
      await sleep(50);
      expect(await client.count()).toBe(0);
    }, 5_000);
  });

  test('all points are stored, in batches that the service takes', async () => {
    const heard: BulkProgress[] = [];
    const onProgress = (progress: BulkProgress): number => heard.push(progress);
    const total = await client.bulk(points(95), { onProgress });
    const bytes = expect.any(Number);
    expect(total).toEqual({ stored: 95, replaced: 0, kept: 0, points: 95, leading: 95, bytes });
    expect(heard).toHaveLength(10);
    expect(heard.at(-1)).toEqual(total);
    expect(heard.map((each) => each.points)).toEqual(
      heard.map((each) => each.points).toSorted((left, right) => left - right),
    );
    expect(await contentsOf(client)).toEqual(numbers(95));
  });

  test('the points before those that are not acknowledged are told, so that a load can go on', async () => {
    const heard: BulkProgress[] = [];
    const onProgress = (progress: BulkProgress): number => heard.push(progress);
    async function* source(): AsyncGenerator<NewPoint> {
      yield* points(45);
      // Of another dimension: the batch that it is in is refused.
      yield { ...point(46), vector: [1] };
      yield* points(100);
    }
    const options = { onProgress, window: 3 };
    await expectFailure(client.bulk(source(), options), 'INVALID_ARGUMENT', /vector/);
    const { leading = 0 } = heard.at(-1) ?? {};
    expect(leading).toBeGreaterThan(0);
    expect(leading).toBeLessThanOrEqual(40);
    const stored = await contentsOf(client);
    for (const [one, content] of numbers(leading)) expect(stored.get(one)).toBe(content);
  });

  test('batches have no more than some thousand points, however small these are', async () => {
    const own = open(await startServer({ dimension: 1 }), protocol);
    const small = Array.from({ length: 10_000 }, () => ({ vector: [1] }));
    const heard: number[] = [];
    await own.bulk(small, { window: 1, onProgress: (progress) => heard.push(progress.points) });
    expect(heard).toEqual([4_096, 8_192, 10_000]);
  });

  test('batches have as many bytes as they may', async () => {
    const content = 'é'.repeat(2_000);
    const long = Array.from({ length: 7 }, (_, at) => point(at + 1, content));
    const batches: number[] = [];
    const onProgress = ({ points: count }: BulkProgress): number => batches.push(count);
    await client.bulk(long, { onProgress, window: 1 });
    expect(batches).toEqual([2, 4, 6, 7]);
    batches.length = 0;
    await client.bulk(long, { onProgress, window: 1, batchBytes: 1 });
    expect(batches).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  test('a repeated load replaces what is there, or keeps it', async () => {
    await client.bulk(points(20));
    expect(await client.bulk(points(25))).toMatchObject({ stored: 5, replaced: 20, kept: 0 });
    const changed = Array.from(points(30), (one) => ({ ...one, content: 'new' }));
    const again = await client.bulk(changed, { ifAbsent: true });
    expect(again).toMatchObject({ stored: 5, replaced: 0, kept: 25, points: 30 });
    expect((await contentsOf(client)).get(id(25))).toBe('25');
  });

  test('of points with one id the last one is stored, or the first one', async () => {
    // Twice in one batch, and in batches that would be under way together.
    const twice = Array.from({ length: 100 }, (_, at) => point((at % 33) + 1, String(at)));
    await client.bulk(twice, { window: 8 });
    const last = new Map(twice.map((one) => [one.id, one.content]));
    expect(await contentsOf(client)).toEqual(last);
    await client.deleteAll(33);
    await client.bulk(twice, { window: 8, ifAbsent: true });
    const first = new Map(twice.toReversed().map((one) => [one.id, one.content]));
    expect(await contentsOf(client)).toEqual(first);
  });

  test('no more is read than the window holds, and a batch for each that waits', async () => {
    const window = 2;
    let acknowledged = 0;
    let ahead = 0;
    let number = 0;
    async function* source(): AsyncGenerator<NewPoint> {
      for (const one of points(200)) {
        number += 1;
        ahead = Math.max(ahead, number - acknowledged);
        yield one;
      }
    }
    const onProgress = (progress: BulkProgress): void => void (acknowledged = progress.points);
    await client.bulk(source(), { window, onProgress });
    expect(number).toBe(200);
    expect(ahead).toBeLessThanOrEqual((window + 1) * BATCH + 1);
  });

  test('the first failure that cannot be mended ends it, and the source', async () => {
    let isClosed = false;
    function* source(): Generator<NewPoint> {
      try {
        yield* points(50);
        yield { vector: [1, 2, 3] };
        for (;;) yield* points(BATCH);
      } finally {
        isClosed = true;
      }
    }
    await expectFailure(client.bulk(source()), 'INVALID_ARGUMENT', /3/);
    await vi.waitFor(() => expect(isClosed).toBe(true));
    const broken = client.bulk([...points(15), { vector: [1, 1], content: '\udfff' }]);
    await expectFailure(broken, 'INVALID_ARGUMENT', /^points\[15\]\.content/);
  });

  test('a failure ends it though the source is silent', async () => {
    let isRead = false;
    async function* source(): AsyncGenerator<NewPoint> {
      yield { vector: [1, 2, 3] };
      for (const one of points(BATCH)) yield one;
      isRead = true;
      await new Promise(() => {});
    }
    await expectFailure(client.bulk(source()), 'INVALID_ARGUMENT', /3/);
    expect(isRead).toBe(true);
  });

  test('a failure of the source ends it', async () => {
    function* source(): Generator<NewPoint> {
      yield* points(5);
      throw new Error('no more of the file can be read');
    }
    await expect(client.bulk(source())).rejects.toThrow('no more of the file can be read');
  });

  test('of no points it does nothing', async () => {
    expect(await client.bulk([])).toMatchObject({ points: 0, bytes: 0 });
  });

  test.each([{ window: 0 }, { batchBytes: 0 }, { patienceMs: -1 }, { deadlineMs: NaN }])(
    'the options %j are refused',
    async (options) => {
      const [name = ''] = Object.keys(options);
      await expectFailure(client.bulk([], options), 'INVALID_ARGUMENT', new RegExp(`^${name} is`));
    },
  );

  test('whatever is killed meanwhile, it ends with exactly the right points', async () => {
    const service = await Restartable.start({ dimension: 2 });
    const own = open(service.server, protocol, { retries: { maxMs: 100 } });
    const count = 3_000;
    let restarting = Promise.resolve();
    let kills = 0;
    /** Kills the service in the midst of every few batches. */
    async function* source(): AsyncGenerator<NewPoint> {
      let number = 0;
      for (const one of points(count)) {
        number += 1;
        if (number % 800 === 0) {
          await restarting;
          kills += 1;
          restarting = service.restart();
        }
        yield one;
      }
    }
    const total = await own.bulk(source(), { batchBytes: 4_000, window: 3 });
    await restarting;
    expect(kills).toBe(3);
    expect(total).toMatchObject({ kept: 0, points: count });
    expect(await contentsOf(own)).toEqual(numbers(count));
  });

  test('a service that stays away is waited for as long as it is told to', async () => {
    const gone = await startServer({ dimension: 2 });
    const own = open(gone, protocol, { retries: { maxMs: 10 } });
    await gone.kill();
    const load = own.bulk(points(5), { patienceMs: 100 });
    await expectFailure(load, 'CONNECTION_LOST', /no answer/);
  });
});
