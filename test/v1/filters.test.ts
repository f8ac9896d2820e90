import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createChannel, createClient, Metadata } from 'nice-grpc';
import { beforeAll, describe, expect, it, test } from 'vitest';
import type { Client, Filter, Metadata as PointMetadata } from '../../src/client/node.js';
import {
  PointsServiceDefinition,
  type Filter as WireFilter,
} from '../../src/gen/vectord/v1/points.js';
import { all, expectFailure, expectInvalid, id, open, PROTOCOLS } from '../client/open.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { inScrollOrder, ON_CLUSTER } from '../support/on-cluster.js';
import { startServer, type TestServer } from '../support/server.js';

/** The table of docs/FILTERS.md: what points have under x, and which of them each condition passes. */
const [HEAD = [], , ...ROWS] =
  readFileSync('docs/FILTERS.md', 'utf8')
    .split('## Every operator on every type')[1]
    ?.split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('`', '')),
    ) ?? [];
const STORED = HEAD.slice(1);
const CASES = ROWS.map(([condition = '', ...cells]): [string, number[]] => [
  condition,
  cells.flatMap((cell, column) => (cell === 'yes' ? [column + 1] : [])),
]);

let server: TestServer;

beforeAll(async () => {
  server = await startServer({ dimension: 2 });
  const points = STORED.map((text, column) => ({
    id: id(column + 1),
    vector: [column + 1, 0],
    metadata: text === 'nothing' ? null : ({ x: JSON.parse(text) } as PointMetadata),
  }));
  await open(server, 'grpc').upsert(points);
});

test('the table has every operator and every type', () => {
  expect(STORED).toHaveLength(12);
  const operators = CASES.flatMap(([condition]) => condition.match(/\$\w+/g) ?? []);
  expect(new Set(operators).size).toBe(9);
  for (const cells of ROWS)
    expect(cells.slice(1)).not.toContainEqual(expect.not.stringMatching(/^(yes|no)$/));
});

describe.each(PROTOCOLS)('over %s', (protocol) => {
  let client: Client;

  beforeAll(() => {
    client = open(server, protocol);
  });

  async function passing(filter: Filter): Promise<string[]> {
    const found = await all(client.scroll({ filter, include: [] }));
    return found.map((point) => point.id).toSorted();
  }

  it.each(CASES)('x: %s passes what the table says', async (condition, columns) => {
    const filter: Filter = { x: JSON.parse(condition) as string };
    const expected = columns.map(id);
    expect(await passing(filter)).toEqual(expected);
    expect(await client.count({ filter })).toBe(expected.length);
    const query = {
      vector: [0, 0],
      similarity: 'Euclidean',
      limit: 100,
      filter,
      include: [],
    } as const;
    const both = await client.searchAll([query, { ...query, exact: true }]);
    const near = await client.search({ ...query, limit: 2 });
    expect(both.map((list) => list.map((point) => point.id))).toEqual([expected, expected]);
    expect(near.map((point) => point.id)).toEqual(expected.slice(0, 2));
  });

  it('filters are combined', async () => {
    const everything = STORED.map((_, column) => id(column + 1));
    expect(await passing({})).toEqual(everything);
    expect(await passing({ $not: {} })).toEqual([]);
    expect(await passing({ x: 1, $or: [{ x: 'a' }, { x: 2 }] })).toEqual([id(11)]);
    expect(await passing({ $or: [{ x: 'a' }, { x: 2 }] })).toEqual([3, 6, 10, 11].map(id));
    expect(await passing({ $and: [{ x: 'a' }, { $not: { x: 'b' } }] })).toEqual([id(3)]);
    expect(await passing({ $id: id(3) })).toEqual([id(3)]);
    expect(await passing({ $id: { $in: [id(3), id(99)] }, x: { $exists: true } })).toEqual([id(3)]);
    expect(await passing({ $content_type: 'Image' })).toEqual([]);
    expect(await passing({ $content_type: { $ne: 'Image' } })).toEqual(everything);
  });

  it('numbers may be of any size', async () => {
    expect(await passing({ x: { $lt: 2 ** 60 } })).toEqual([5, 6, 11].map(id));
    expect(await passing({ x: { $in: [-(2 ** 53) - 2, 1e300, 2] } })).toEqual([6, 11].map(id));
  });

  it('a scroll goes on behind each page', async () => {
    const filter = { x: { $exists: true } };
    const expected = await passing(filter);
    const found: string[] = [];
    let after: string | undefined;
    do {
      const page = await client.scrollPage({
        filter,
        limit: 3,
        after,
        include: [],
        order: 'newest',
      });
      found.push(...page.points.map((point) => point.id));
      after = page.next ?? undefined;
    } while (after !== undefined);
    expect(found).toEqual(inScrollOrder(expected).toReversed());
  });

  it('a search finds as many as there are, and no others', async () => {
    const own = await startServer({ dimension: 2 });
    const ownClient = open(own, protocol);
    const points = Array.from({ length: 3_000 }, (_, at) => ({
      id: id(at + 1),
      vector: [at, at % 7],
      metadata: { part: at % 1_000 },
    }));
    await ownClient.upsert(points);
    const query = { vector: [1_500, 3], similarity: 'Euclidean', limit: 10, ef: 10 } as const;
    const filter = { part: 7 };
    const found = await ownClient.search({ ...query, filter });
    expect(found.map((point) => point.id)).toEqual([1_008, 2_008, 8].map(id));
    const nearly = await ownClient.search({ ...query, filter: { part: { $ne: 500 } } });
    expect(nearly).toHaveLength(10);
    expect(nearly.map((point) => point.id)).not.toContain(id(1_501));
  });

  it('a delete deletes what passes, and refuses an empty filter within its own', async () => {
    const own = await startServer({ dimension: 2 });
    const ownClient = open(own, protocol);
    const points = [1, 2, 3].map((n) => ({ id: id(n), vector: [n, 0], metadata: { n } }));
    await ownClient.upsert(points);
    for (const [filter, place] of EMPTY) {
      const message = `${place} is empty, expected at least one condition; to delete all points`;
      const asked = JSON.parse(JSON.stringify(filter)) as Filter;
      const failure = await ownClient.deleteMatching(asked).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'INVALID_ARGUMENT' });
      expect(String(failure)).toContain(message);
      expect(await ownClient.count({ filter: asked })).toBeGreaterThanOrEqual(0);
    }
    expect(await ownClient.count({ filter: { $or: [{}, { n: 9 }] } })).toBe(3);
    const answer = await ownClient.deleteMatching({ n: { $gte: 2 } });
    expect(answer).toEqual({ deleted: 2, missing: [] });
    expect(await ownClient.count()).toBe(1);
    const reader = open(own, protocol, { key: own.keys.readonly });
    await expectFailure(reader.deleteMatching({ n: 1 }), 'PERMISSION_DENIED', /key/);
    expect(await reader.count({ filter: { n: 1 } })).toBe(1);
  });

  it.each<[unknown, string]>([
    ['x', 'filter is "x", expected a filter: a plain object'],
    [new Map(), 'filter is a Map'],
    [{ x: null }, 'filter.x is null'],
    [{ x: NaN }, 'filter.x is NaN, expected a finite number'],
    [{ x: ['a'] }, 'filter.x is an Array'],
    [{ x: {} }, 'filter.x is empty, expected a value or operators'],
    [{ x: { $foo: 1 } }, 'filter.x.$foo is "$foo", expected one of $eq, $ne'],
    [{ x: { $in: 'a' } }, 'filter.x.$in is "a", expected an array'],
    [{ x: { $in: [1, null] } }, 'filter.x.$in[1] is null'],
    [{ x: { $exists: 1 } }, 'filter.x.$exists is 1, expected true or false'],
    [{ $foo: 1 }, 'filter.$foo is "$foo", expected one of $id, $content_type'],
    [{ $or: [] }, 'filter.$or is empty, expected an array of at least one filter'],
    [{ $or: [{ x: 1 }, 2] }, 'filter.$or[1] is 2'],
    [{ x: '\ud800' }, 'filter.x has a half of a surrogate pair'],
    [nested(17), `filter${'.$not'.repeat(17)} is an Object, expected at most 16`],
  ])('%j is refused before it is sent', async (filter, message) => {
    await expectInvalid(client.count({ filter: filter as Filter }), message);
  });

  it.each<[Filter, RegExp]>([
    [{ x: { $gt: true as never } }, /^filter\.x\.\$gt is true, expected a string or a finite/],
    [{ $id: 'x' }, /^filter\.\$id(\.\$eq)? is "x", expected a UUID/],
    [{ $id: { $gt: 'x' } }, /^filter\.\$id\.\$gt is unknown, expected \$eq, \$ne, \$in or \$nin/],
    [{ $content_type: 'text' }, /^filter\.\$content_type(\.\$eq)? is "text", expected "Image"/],
    [
      { x: { $in: Array.from({ length: 10_001 }, () => 1) } },
      /^filter\.x\.\$in is 10001, expected at most 10000 items/,
    ],
    [{ x: 'x'.repeat(1 << 20) }, /^the length of filter is \d+, expected at most 1048576/],
  ])('what breaks a rule is refused by the service', async (filter, message) => {
    await expectFailure(client.count({ filter }), 'INVALID_ARGUMENT', message);
    const query = { vector: [0, 0], similarity: 'Cosine', limit: 1, filter } as const;
    const ofQuery = new RegExp(message.source.replace('^filter', '^queries\\[0\\]\\.filter'));
    const list = client.searchAll([query]);
    await expectFailure(
      list,
      'INVALID_ARGUMENT',
      message.source.startsWith('^the') ? /length/ : ofQuery,
    );
  });

  it('is nested as deep as is allowed', async () => {
    expect(await passing(nested(16))).toEqual(STORED.map((_, column) => id(column + 1)));
    const both = { x: { $exists: true }, $id: { $nin: [] } };
    let filter: Filter = both;
    for (let depth = 0; depth < 16; depth += 1) filter = { ...both, $or: [filter] };
    expect(await passing(filter)).toEqual(await passing(both));
  });
});

/** As many `$not` within each other. */
function nested(depth: number): Filter {
  return depth === 0 ? {} : { $not: nested(depth - 1) };
}

/** Filters that have lost conditions, and where they have. */
const EMPTY: readonly [Filter, string][] = [
  [{}, 'filter'],
  [{ $and: [{}] }, 'filter.$and[0]'],
  [{ $or: [{ tenant: undefined as never }, { n: 9 }] }, 'filter.$or[0]'],
  [{ $not: { $and: [{ n: 9 }, {}] } }, 'filter.$not.$and[1]'],
];

describe('a message', () => {
  const count = async (filter: WireFilter): Promise<bigint> => {
    const metadata = Metadata({ authorization: server.keys.readonly });
    const client = createClient(PointsServiceDefinition, createChannel(server.grpc), {
      '*': { metadata },
    });
    return (await client.count({ filter, collection: '' })).count;
  };

  it('without a field passes every point', async () => {
    expect(await count({})).toBe(BigInt(STORED.length));
  });

  it('takes whole numbers of any size', async () => {
    const condition = { field: 'x', lt: { number: 1e18 } };
    expect(await count({ condition })).toBe(3n);
  });

  it.each<[WireFilter, string]>([
    [{ condition: { field: 'x' } }, 'filter.condition is empty, expected a test'],
    [{ condition: { field: 'x', eq: {} } }, 'filter.condition is empty, expected text, number'],
    [
      { condition: { field: 'x', eq: { number: NaN } } },
      'filter.condition: NaN is no finite number',
    ],
    [{ condition: { field: '$and', exists: true } }, 'filter.condition.field is "$and"'],
    [{ all: { filters: [] } }, 'filter.$and is empty, expected an array of at least one filter'],
    [deep(34), 'expected at most 33 of all, any and negated within each other'],
    [deep(5_000), 'expected at most 33 of all, any and negated within each other'],
  ])('that is no filter is refused', async (filter, message) => {
    await expect(count(filter)).rejects.toThrow(message);
  });
});

function deep(depth: number): WireFilter {
  let filter: WireFilter = {};
  for (let at = 0; at < depth; at += 1) filter = { negated: filter };
  return filter;
}

test.skipIf(ON_CLUSTER)(
  'a folder that was written before there were metadata is filtered',
  async () => {
    const [points, images] = [80, 40];
    const dataPath = join(makeTemporaryFolder(), 'data');
    cpSync('crates/engine/tests/samples/v1', dataPath, { recursive: true });
    const old = await startServer({ dataPath, dimension: 8 });
    const clients = PROTOCOLS.map((protocol) => open(old, protocol));
    const [client] = clients as [Client, Client];
    const counts: readonly [Filter, number][] = [
      [{ x: { $exists: false } }, points],
      [{ x: { $ne: 1 } }, points],
      [{ x: { $nin: ['a', true] } }, points],
      [{ $not: { x: { $gte: 0 } } }, points],
      [{ x: { $exists: true } }, 0],
      [{ x: { $lt: 1 } }, 0],
      [{ $content_type: 'Image' }, images],
    ];
    for (const [filter, count] of counts) {
      const query = {
        vector: Array.from({ length: 8 }, () => 1),
        similarity: 'Cosine',
        limit: 100,
      } as const;
      for (const one of clients) {
        expect(await one.count({ filter })).toBe(count);
        expect(await all(one.scroll({ filter }))).toHaveLength(count);
        expect(await one.search({ ...query, filter })).toHaveLength(count);
      }
    }
    const vector = Array.from({ length: 8 }, () => 0);
    await client.upsert([{ id: id(1), vector, metadata: { x: 1 } }]);
    const answer = await client.deleteMatching({ x: { $ne: 1 }, $content_type: 'Image' });
    expect(answer.deleted).toBe(images);
    expect(await old.stop()).toBe(0);

    const again = open(await startServer({ dataPath, dimension: 8 }), 'grpc');
    expect(await again.count({ filter: { x: { $exists: false } } })).toBe(points - images);
    expect(await again.count({ filter: { x: 1 } })).toBe(1);
  },
);
