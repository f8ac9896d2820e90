import { describe, expect, test, vi } from 'vitest';
import type { Client, Filter } from '../../src/client/node.js';
import { all, id, open, PROTOCOLS } from '../client/open.js';
import { startServer } from '../support/server.js';

const PATIENCE = 10_000;
const POINTS = 1_000;

/** Points whose metadata have a number and a text, and whose content is an image for every tenth. */
async function store(client: Client): Promise<void> {
  const points = Array.from({ length: POINTS }, (_, at) => ({
    id: id(at + 1),
    vector: [at, 0],
    contentType: at % 10 === 0 ? ('Image' as const) : ('Text' as const),
    metadata: { number: at, text: `text ${at % 100}` },
  }));
  await client.upsert(points);
}

/** Filters by other fields than each other, and how many points pass. */
const FILTERS: readonly (readonly [Filter, number])[] = [
  [{ text: 'text 7' }, 10],
  [{ number: { $lt: 100 } }, 100],
  [{ $content_type: 'Image' }, 100],
  [{ none: { $exists: false } }, POINTS],
];
const FIELDS = ['$content_type', 'none', 'number', 'text'];

async function expectRightAnswers(client: Client): Promise<void> {
  for (const [filter, expected] of FILTERS) {
    expect(await client.count({ filter })).toBe(expected);
    expect(await all(client.scroll({ filter, include: [] }))).toHaveLength(expected);
  }
}

describe.each(PROTOCOLS)('the filter index, over %s', (protocol) => {
  test('has each field that was filtered by, in their order, and is soon ready', async () => {
    const server = await startServer({ dimension: 2 });
    const client = open(server, protocol);
    await store(client);
    await client.count({ filter: { $id: id(1) } });
    expect((await client.info()).filterIndex).toEqual([]);
    await expectRightAnswers(client);
    const { filterIndex } = await client.info();
    expect(filterIndex.map(({ field }) => field)).toEqual(FIELDS);
    for (const { state } of filterIndex) expect(['building', 'ready']).toContain(state);
    await vi.waitFor(async () => {
      const { filterIndex: later } = await client.info();
      expect(later.map(({ state }) => state)).toEqual(FIELDS.map(() => 'ready'));
      for (const { bytes } of later) expect(bytes).toBeGreaterThanOrEqual(POINTS * 8);
    }, PATIENCE);
    await expectRightAnswers(client);
  });

  test('scans the fields for which there is no room, and answers are the same', async () => {
    const server = await startServer({ dimension: 2, env: { MAX_FILTER_INDEX_BYTES: '1' } });
    const client = open(server, protocol);
    await store(client);
    await expectRightAnswers(client);
    const { filterIndex, limits } = await client.info();
    expect(limits.maxFilterIndexBytes).toBe(1);
    expect(filterIndex).toEqual(
      FIELDS.map((field) => ({ field, state: 'scanned', bytes: POINTS * 13 })),
    );
  });

  test('gives a field up that was filtered by before there was too much of it', async () => {
    const server = await startServer({ dimension: 2, env: { MAX_FILTER_INDEX_BYTES: '1' } });
    const client = open(server, protocol);
    await client.count({ filter: { number: 1 } });
    await store(client);
    await vi.waitFor(async () => {
      const [part] = (await client.info()).filterIndex;
      expect(part).toMatchObject({ field: 'number', state: 'scanned' });
      expect(part?.bytes).toBeGreaterThanOrEqual(POINTS * 8);
    }, PATIENCE);
    expect(await client.count({ filter: { number: { $lt: 100 } } })).toBe(100);
  });
});
