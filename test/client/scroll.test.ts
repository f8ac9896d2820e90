import { beforeAll, describe, expect, test } from 'vitest';
import type { Client, Order, Part, ScrollPageOptions } from '../../src/client/node.js';
import { inScrollOrder } from '../support/on-cluster.js';
import { startServer, type TestServer } from '../support/server.js';
import { all, expectFailure, id, open, PROTOCOLS } from './open.js';
import { Restartable } from './restart.js';

/** More than a page over HTTP holds, and a message over gRPC. */
const COUNT = 2_500;

const WRITTEN = Array.from({ length: COUNT }, (_, at) => id(at + 1));
const IDS = inScrollOrder(WRITTEN);

async function store(client: Client, contentOf: (at: number) => string = String): Promise<void> {
  await client.upsert(
    WRITTEN.map((one, at) => ({ id: one, vector: [at, 1], content: contentOf(at) })),
  );
}

async function idsOf(points: AsyncIterable<{ readonly id: string }>): Promise<string[]> {
  return (await all(points)).map((point) => point.id);
}

describe.each(PROTOCOLS)('over %s', (protocol) => {
  let server: TestServer;
  let client: Client;

  beforeAll(async () => {
    server = await startServer({ dimension: 2 });
    client = open(server, protocol);
    await store(client);
  });

  test.each<[Order | undefined, string[]]>([
    [undefined, IDS],
    ['oldest', IDS],
    ['newest', IDS.toReversed()],
  ])('all points come in the order %s', async (order, expected) => {
    expect(await idsOf(client.scroll({ order, include: [] }))).toEqual(expected);
  });

  test('points have what is asked for', async () => {
    const [first] = await all(client.scroll());
    expect(first).toEqual({ id: id(1), content: '0', contentType: 'Text', metadata: null });
    const include: Part[] = ['vector', 'contentType'];
    const points = await all(client.scroll({ include }));
    expect(points.at(-1)).toEqual({
      id: id(COUNT),
      vector: Float32Array.of(COUNT - 1, 1),
      contentType: 'Text',
    });
  });

  test('a reader may stop at any point, and go on behind a page', async () => {
    const seen: string[] = [];
    for await (const point of client.scroll({ include: [] })) {
      seen.push(point.id);
      if (seen.length === 1_500) break;
    }
    expect(seen).toEqual(IDS.slice(0, 1_500));
    const { next } = await client.scrollPage({ limit: 2_000, include: [] });
    const rest = client.scroll({ after: next ?? '', include: [] });
    expect(await idsOf(rest)).toEqual(IDS.slice(2_000));
  });

  test('pages follow each other to the end, whose next is null', async () => {
    for (const order of ['oldest', 'newest'] as const) {
      const expected = order === 'oldest' ? IDS : IDS.toReversed();
      const asked: ScrollPageOptions = { limit: 900, order, include: [] };
      const seen: string[] = [];
      const lengths: number[] = [];
      let after: string | null | undefined;
      do {
        const page = await client.scrollPage({ ...asked, after: after ?? undefined });
        seen.push(...page.points.map((point) => point.id));
        lengths.push(page.points.length);
        after = page.next;
      } while (after !== null);
      expect(seen).toEqual(expected);
      expect(lengths).toEqual([900, 900, 700]);
    }
  });

  test('what is wrong is refused', async () => {
    await expectFailure(client.scrollPage({ limit: 0 }), 'INVALID_ARGUMENT', /limit is 0/);
    const page = client.scrollPage({ limit: 1, after: 'x' });
    await expectFailure(page, 'INVALID_ARGUMENT', /after/);
    await expectFailure(all(client.scroll({ after: 'x' })), 'INVALID_ARGUMENT', /after/);
    const order = 'random' as Order;
    await expectFailure(all(client.scroll({ order })), 'INVALID_ARGUMENT', /order is "random"/);
  });

  test('an empty service has one page and no point', async () => {
    const empty = open(await startServer({ dimension: 2 }), protocol);
    expect(await empty.scrollPage({ limit: 1 })).toEqual({ points: [], next: null });
    expect(await all(empty.scroll())).toEqual([]);
  });

  test('pages end where they would be too large, and come in full all the same', async () => {
    const env = { MAX_REQUEST_BYTES: '200000' };
    const small = open(await startServer({ dimension: 2, env }), protocol);
    const content = 'x'.repeat(50_000);
    for (const one of IDS.slice(0, 10)) await small.upsert([{ id: one, vector: [1, 1], content }]);
    const page = await small.scrollPage({ limit: 10 });
    expect(page.points.length).toBeLessThan(4);
    expect(page.next).not.toBeNull();
    expect(await idsOf(small.scroll())).toEqual(IDS.slice(0, 10));
  });

  test('a scroll goes on where it was when the service is killed and started again', async () => {
    const service = await Restartable.start({ dimension: 2 });
    const retries = { attempts: Infinity, maxMs: 100 };
    const own = open(service.server, protocol, { retries });
    // More than can be on its way: the rest comes of the second process.
    await store(own, () => 'x'.repeat(10_000));
    const { next } = await own.scrollPage({ limit: 1_200, include: [] });
    const seen: string[] = [];
    for await (const point of own.scroll()) {
      seen.push(point.id);
      if (seen.length === 500) await service.restart();
    }
    expect(seen).toEqual(IDS);
    const rest = own.scroll({ after: next ?? '', include: [] });
    expect(await idsOf(rest)).toEqual(IDS.slice(1_200));
  });
});
