import { runInNewContext } from 'node:vm';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Client, Filter } from '../../src/client/node.js';
import { open as openEmbedded } from '../../src/embedded/open.js';
import { startServer, type TestServer } from '../support/server.js';
import { all, expectInvalid, id, open, PROTOCOLS } from './open.js';

// What a program forgot to set has to change nothing: a condition that is left out lets pass the points
// of others.

type Untyped = Omit<{ [Name in keyof Client]: (...values: unknown[]) => never }, 'close'>;

const POINT = { vector: [1, 0, 0, 0] };
const TENANTS = ['a', 'b', 3];
const POINTS = TENANTS.map((tenant, at) => ({ ...POINT, id: id(at + 1), metadata: { tenant } }));
const NEAREST = { ...POINT, similarity: 'Cosine', limit: 9 } as const;

const VALUE = 'expected a string, a boolean or a finite number';

/** What is refused, and filters that are. */
const FILTERS: Record<string, unknown> = {
  [`tenant is undefined, ${VALUE}`]: { tenant: undefined },
  [`other is undefined, ${VALUE}`]: { tenant: 'a', other: undefined },
  [`tenant.$eq is undefined, ${VALUE}`]: { tenant: { $eq: undefined } },
  [`tenant.$lt is undefined, ${VALUE}`]: { tenant: { $gte: 1, $lt: undefined } },
  [`tenant.$in[1] is undefined, ${VALUE}`]: { tenant: { $in: ['a', undefined] } },
  [`tenant.$in[0] is undefined, ${VALUE}`]: { tenant: { $in: Object.assign([], { 1: 'a' }) } },
  'tenant.$in is undefined, expected an array': { tenant: { $in: undefined } },
  'tenant.$nin is undefined, expected an array': { tenant: { $nin: undefined } },
  'tenant.$exists is undefined, expected true or false': { tenant: { $exists: undefined } },
  [`$id is undefined, ${VALUE}`]: { $id: undefined },
  [`$content_type is undefined, ${VALUE}`]: { $content_type: undefined },
  [`$and[0].tenant is undefined, ${VALUE}`]: { $and: [{ tenant: undefined }] },
  [`$or[1].tenant is undefined, ${VALUE}`]: { $or: [{ tenant: 'a' }, { tenant: undefined }] },
  [`$not.tenant is undefined, ${VALUE}`]: { $not: { tenant: undefined } },
  '$and is undefined, expected an array': { tenant: 'a', $and: undefined },
  '$or is undefined, expected an array': { tenant: 'a', $or: undefined },
  '$not is undefined, expected a filter': { tenant: 'a', $not: undefined },
  '$or[0] is undefined, expected a filter': { $or: [undefined] },
  '$or[0] is an Object, expected a filter: a plain object, whose members are its own': {
    $or: [Object.create({ tenant: 'a' }), { tenant: 'b' }],
  },
  '$not is an Object, expected a filter: a plain object': {
    $not: Object.create(Object.assign(Object.create(null), { tenant: 'a' })),
  },
  [`tenant is an Object, ${VALUE}`]: { tenant: Object.create({ $eq: 'a' }) },
  '$or[0].tenant is hidden, expected only enumerable members': {
    $or: [Object.defineProperty({}, 'tenant', { value: 'a' }), { tenant: 'b' }],
  },
  'tenant.Symbol($lt) is hidden, expected only enumerable members': {
    tenant: { $gte: 'a', [Symbol('$lt')]: 1 },
  },
};

/** The calls that take a filter, each as the message begins that names it. */
const FILTERED: [string, (client: Untyped, filter: unknown) => Promise<unknown>][] = [
  ['filter.', async (client, filter) => client.deleteMatching(filter)],
  ['filter.', async (client, filter) => client.count({ filter })],
  ['filter.', async (client, filter) => all(client.scroll({ filter }))],
  ['filter.', async (client, filter) => client.scrollPage({ limit: 9, filter })],
  ['filter.', async (client, filter) => client.search({ ...NEAREST, filter })],
  [
    'queries[1].filter.',
    async (client, filter) => client.searchAll([NEAREST, { ...NEAREST, filter }]),
  ],
];

const CALLS: Record<string, (client: Untyped) => Promise<unknown>> = {
  'filter is undefined, expected a filter': async (client) => client.deleteMatching(undefined),
  'ids is undefined, expected an array': async (client) => client.delete(undefined),
  'ids[1] is undefined, expected a string': async (client) => client.delete([id(1), undefined]),
  'ids[0] is undefined, expected a string': async (client) => client.get([undefined]),
  'confirm is undefined, expected a whole number': async (client) => client.deleteAll(undefined),
  'points is undefined, expected an array': async (client) => client.upsert(undefined),
  'points[0] is undefined, expected an object': async (client) => client.upsert([undefined]),
  'points[1] is undefined, expected an object': async (client) =>
    client.upsert(Object.assign([POINT], { 2: POINT })),
  'points[0].vector is undefined, expected a Float32Array': async (client) =>
    client.upsert([{ vector: undefined }]),
  'points[1].vector is undefined, expected a Float32Array': async (client) =>
    client.bulk([POINT, {}]),
  'points[2] is undefined, expected an object': async (client) =>
    client.update(Object.assign([{ id: id(1) }, { id: id(2) }], { 3: { id: id(3) } })),
  'points[0].id is undefined, expected a string': async (client) =>
    client.update([{ id: undefined, content: '' }]),
  'queries[1] is undefined, expected an object': async (client) =>
    client.searchAll(Object.assign([NEAREST], { 2: NEAREST })),
  'similarity is undefined, expected one of': async (client) =>
    client.search({ ...NEAREST, similarity: undefined }),
  'limit is undefined, expected a whole number': async (client) =>
    client.search({ ...NEAREST, limit: undefined }),
};

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});

describe.each([...PROTOCOLS, 'embedded'] as const)('%s', (kind) => {
  /** A client of a service that has three points. */
  async function filled(): Promise<Omit<Client, 'close'>> {
    const client = kind === 'embedded' ? await openEmbedded({ dimension: 4 }) : open(server, kind);
    if (kind === 'embedded') onTestFinished(async () => await client.close());
    await client.deleteAll(await client.count());
    await client.upsert(POINTS);
    return client;
  }

  test.each(Object.keys(FILTERS))('refuses a filter: %s', async (message) => {
    const client = await filled();
    for (const [place, call] of FILTERED) {
      await expectInvalid(call(client as Untyped, FILTERS[message]), `${place}${message}`);
    }
    expect(await client.count()).toBe(TENANTS.length);
  });

  test('sends what it has checked of a filter whose getter answers once', async () => {
    for (const [, call] of FILTERED) {
      const client = await filled();
      let reads = 0;
      const once = {
        get tenant() {
          reads += 1;
          return reads === 1 ? 'a' : undefined;
        },
      };
      await call(client as Untyped, { $or: [once, { tenant: 'none' }] });
      expect([reads, await client.count({ filter: { tenant: { $in: ['b', 3] } } })]).toEqual([
        1, 2,
      ]);
    }
  });

  test('takes filters of other realms, and of no prototype', async () => {
    const client = await filled();
    const tenant = runInNewContext('({ $eq: "a" })') as Filter;
    const without = Object.assign(Object.create(null), { tenant }) as Filter;
    expect(await client.deleteMatching(without)).toMatchObject({ deleted: 1 });
  });

  test.each(Object.keys(CALLS))('refuses a call: %s', async (message) => {
    const client = await filled();
    await expectInvalid(Promise.resolve(CALLS[message]?.(client as Untyped)), message);
    expect(await client.count()).toBe(TENANTS.length);
  });

  test('takes an option that is undefined for one that is left out', async () => {
    const client = await filled();
    const options = { deadlineMs: undefined, signal: undefined, retries: undefined };
    expect(await client.count({ ...options, filter: undefined })).toBe(3);
    expect(
      await all(client.scroll({ ...options, filter: undefined, after: undefined })),
    ).toHaveLength(3);
    const rest = { ef: undefined, exact: undefined, like: undefined, maxDistance: undefined };
    const query = { ...NEAREST, ...rest, filter: undefined, include: undefined };
    expect(await client.search(query, options)).toHaveLength(3);
    const point = { ...POINT, id: undefined, content: undefined, metadata: undefined };
    expect(await client.upsert([point], { ifAbsent: undefined })).toMatchObject({ stored: 1 });
  });

  test('leaves a key of metadata out that is undefined, as its type says', async () => {
    const client = await filled();
    const point = { ...POINT, id: id(9) };
    await client.upsert([{ ...point, metadata: { a: 1, b: undefined } }]);
    expect((await client.get([point.id])).points[0]?.metadata).toEqual({ a: 1 });
    await client.update([{ id: point.id, metadata: { a: undefined, c: 2 } }]);
    expect((await client.get([point.id])).points[0]?.metadata).toEqual({ c: 2 });
  });
});
