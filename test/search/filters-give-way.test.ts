import { expect, test } from 'vitest';
import { connect } from '../../src/client/node.js';
import type { Filter, NewPoint } from '../../src/client/model.js';
import { startServer } from '../support/server.js';

/** More conditions than any thread answers for long arrays within a minute. */
const CONDITIONS = 9_999;

/** As many as metadata of 64 KiB hold. */
const ITEMS = 10_500;

function* points(): Generator<NewPoint> {
  for (let at = 0; at < 200; at += 1) {
    const list = Array.from({ length: ITEMS }, (_, item) => 10_000 + ((item + at) % 89_000));
    yield { vector: [at, 1, 0, 0], metadata: { list } };
  }
}

test(
  'whatever filters are asked about all points, other work goes on meanwhile',
  { timeout: 120_000 },
  async () => {
    // Without room for an index each filter reads the points.
    const server = await startServer({ env: { MAX_FILTER_INDEX_BYTES: '1' } });
    const client = connect(server.http, { key: server.keys.readwrite, deadlineMs: 90_000 });
    await client.bulk(points());
    const $or = Array.from({ length: CONDITIONS }, (_, at) => ({ list: { $gt: 200_000 + at } }));
    const giveUp = new AbortController();
    const heavy = Array.from({ length: 6 }, () =>
      client.count({ filter: { $or } as Filter, signal: giveUp.signal }).then(
        () => 'answered',
        () => 'given up',
      ),
    );
    const ended = Promise.race(heavy);

    const vector = [3, 1, 0, 0];
    const query = { vector, similarity: 'Euclidean', limit: 1, exact: true } as const;
    const light = Promise.all([
      client.scrollPage({ limit: 2 }),
      client.searchAll([query, query]),
      client.count({ filter: { other: 1 } }),
    ]);
    const first = await Promise.race([light, ended]);
    expect(first).not.toBeTypeOf('string');
    const [page, found, count] = await light;
    expect(page.points).toHaveLength(2);
    expect(found.map((list) => list.length)).toEqual([1, 1]);
    expect(count).toBe(0);

    giveUp.abort();
    expect(new Set(await Promise.all(heavy))).toEqual(new Set(['given up']));
    expect(await client.count({ filter: { other: 1 } })).toBe(0);
    client.close();
  },
);
