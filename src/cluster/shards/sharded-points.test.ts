import { setImmediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeTemporaryFolder } from '../../../test/support/folders.js';
import { Random } from '../../../test/support/random.js';
import { distinct } from '../../core/distinct.js';
import { VectordError } from '../../core/errors.js';
import { Similarity } from '../../core/model.js';
import type { PageToken } from '../../core/page-token.js';
import {
  assignPointIds,
  filterPointIds,
  formatPointId,
  POINT_ID_BYTES,
  type PointIds,
} from '../../core/point-id.js';
import type { Points } from '../../core/points.js';
import {
  Given,
  type Found,
  type Include,
  type NeighbourQueries,
  type Records,
  type UpdateBatch,
  type UpsertBatch,
} from '../../core/records.js';
import { describeQuery } from '../../core/rules.js';
import { describeUpsert } from '../../core/upserts.js';
import { Engine } from '../../engine/native.js';
import { drawInto } from './draw-ids.js';
import { bytesInAnswer } from './refusals.js';
import { ShardedPoints } from './sharded-points.js';
import type { ShardPoints } from './shards.js';
import { shardOf } from './slots.js';

/*
 * Shards that are real engines, beside one engine that has the same points: whoever asks cannot tell
 * which of the two answers.
 */

const DIMENSION = 4;
const MAX_BYTES = 1 << 24;
const NOTHING: Include = { vector: false, contentType: false, content: false, metadata: false };
const ALL: Include = { vector: true, contentType: true, content: true, metadata: true };

/** The end of no request. */
const goesOn = (): void => {};

async function openEngine(): Promise<Engine> {
  const engine = await Engine.open({
    dimension: DIMENSION,
    hnswM: 16,
    hnswEfConstruction: 100,
    warmMetrics: [],
    graphIdleSeconds: 0,
    segmentBytes: 1 << 20,
    path: makeTemporaryFolder(),
    maxInflightBytes: 1 << 30,
    maxFilterIndexBytes: 1 << 30,
  });
  onTestFinished(async () => await engine.close());
  return engine;
}

type EngineShard = Engine & ShardPoints;

async function openShard(): Promise<EngineShard> {
  return Object.assign(await openEngine(), { isFull: () => false, isSilent: () => false });
}

interface Stores {
  readonly sharded: ShardedPoints;
  readonly shards: readonly EngineShard[];
  readonly one: Engine;
}

async function openStores(count: number): Promise<Stores> {
  const shards = await Promise.all(Array.from({ length: count }, openShard));
  return { sharded: new ShardedPoints(shards, DIMENSION), shards, one: await openEngine() };
}

function idAt(ids: PointIds, index: number): PointIds {
  return ids.subarray(index * POINT_ID_BYTES, (index + 1) * POINT_ID_BYTES);
}

function textsOf(ids: PointIds): string[] {
  return Array.from({ length: ids.length / POINT_ID_BYTES }, (_, at) =>
    formatPointId(idAt(ids, at)),
  );
}

function concat(lists: readonly PointIds[]): PointIds {
  return new Uint8Array(Buffer.concat(lists));
}

/** Texts one after the other, and where each ends. */
function joined(texts: readonly string[]): [Uint8Array, Uint32Array] {
  let end = 0;
  const ends = Uint32Array.from(texts, (text) => (end += Buffer.byteLength(text)));
  return [new Uint8Array(Buffer.from(texts.join(''))), ends];
}

/** Points whose vectors are as near to each other as to make some distances equal. */
function pointsOf(random: Random, ids: PointIds): UpsertBatch {
  const texts = textsOf(ids);
  const [contents, contentEnds] = joined(texts.map(() => 'ä'.repeat(random.below(40))));
  const [metadata, metadataEnds] = joined(
    texts.map(() => (random.below(5) === 0 ? '' : `{"n":${random.below(10)}}`)),
  );
  const vectors = texts.flatMap(() =>
    random.below(2) === 0 ? random.wholeVector(DIMENSION, -2, 2) : random.vector(DIMENSION),
  );
  return {
    ids,
    vectors: Float32Array.from(vectors),
    contentTypes: Uint8Array.from(texts, () => random.below(2)),
    contents,
    contentEnds,
    metadata,
    metadataEnds,
  };
}

function updateOf(random: Random, ids: PointIds): UpdateBatch {
  const { vectors: _, ...payloads } = pointsOf(random, ids);
  const most = Given.ContentType + Given.Content + Given.Metadata;
  return { ...payloads, given: Uint8Array.from(textsOf(ids), () => random.below(most + 1)) };
}

async function allIds(points: Points, newestFirst = false): Promise<PointIds> {
  const request = { limit: 1_000_000, newestFirst, include: NOTHING, maxBytes: MAX_BYTES };
  return (await points.scroll(request, goesOn)).records.ids;
}

/** Some of these ids, each once, and some of no point. */
function someOf(random: Random, ids: PointIds): PointIds {
  const known = filterPointIds(ids, () => random.below(8) === 0);
  return concat([assignPointIds(random.below(3)), known, assignPointIds(1)]);
}

/** An answer in a form that is soon compared, bit for bit. */
function textOf(answer: unknown): string {
  return JSON.stringify(answer, (_, value: unknown) =>
    ArrayBuffer.isView(value)
      ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')
      : value,
  );
}

/** Both stores are asked the same, and answer the same. */
async function both<Answer>(
  { sharded, one }: Stores,
  ask: (points: Points) => Promise<Answer>,
): Promise<Answer> {
  const [answer, expected] = [await ask(sharded), await ask(one)];
  expect(textOf(answer)).toBe(textOf(expected));
  return answer;
}

const FILTER = '{"n":{"$gte":5}}';

/** One write of any kind. */
async function write(stores: Stores, random: Random): Promise<void> {
  const { sharded, one } = stores;
  const present = await allIds(one);
  switch (random.below(8)) {
    case 0:
    case 1: {
      const batch = {
        ...pointsOf(random, assignPointIds(1 + random.below(60))),
        areIdsDrawn: true,
      };
      await sharded.upsert(batch, false, describeUpsert);
      await one.upsert(batch, false, describeUpsert);
      return;
    }
    case 2: {
      const batch = pointsOf(random, assignPointIds(1 + random.below(60)));
      await sharded.insert(batch, describeUpsert);
      await one.insert(batch, describeUpsert);
      return;
    }
    case 3:
    case 4: {
      const batch = pointsOf(random, concat([assignPointIds(40), someOf(random, present)]));
      const keeps = random.below(2) === 0;
      await both(stores, async (points) => await points.upsert(batch, keeps, describeUpsert));
      return;
    }
    case 5: {
      const batch = updateOf(random, someOf(random, present));
      await both(stores, async (points) => await points.update(batch));
      return;
    }
    case 6: {
      const ids = someOf(
        random,
        filterPointIds(present, () => random.below(3) === 0),
      );
      await both(stores, async (points) => await points.deleteMany(ids));
      const id = random.pick([ids, present, assignPointIds(1)]).subarray(0, POINT_ID_BYTES);
      if (id.length > 0) await both(stores, async (points) => await points.delete(id));
      return;
    }
    default:
      if (random.below(4) > 0) return;
      await both(stores, async (points) => await points.deleteMatching('{"n":7}'));
  }
}

async function checkPoints(stores: Stores, random: Random): Promise<void> {
  const present = await allIds(stores.one);
  const ids = someOf(random, present);
  for (const include of [ALL, NOTHING, { ...NOTHING, content: true, vector: true }]) {
    await both(stores, async (points) => await points.getMany(ids, include, MAX_BYTES, goesOn));
  }
  const id = idAt(ids, random.below(ids.length / POINT_ID_BYTES));
  await both(stores, async (points) => await points.get(id));
  await both(stores, async (points) => await points.count(undefined, goesOn));
  await both(stores, async (points) => await points.count(FILTER, goesOn));
  expect(stores.sharded.status().points).toBe(present.length / POINT_ID_BYTES);
}

const SIMILARITIES = Object.values(Similarity);

/** Queries that are answered exactly. */
function queriesOf(
  random: Random,
  present: PointIds,
  filters: readonly string[],
): NeighbourQueries {
  const count = 1 + random.below(6);
  const each = Array.from({ length: count }, (_, at) => at);
  const likes = new Uint8Array(count * POINT_ID_BYTES);
  const vectors: number[] = [];
  for (const at of each) {
    const some = random.below(present.length / POINT_ID_BYTES);
    if (present.length > 0 && random.below(3) === 0) {
      likes.set(idAt(present, some), at * POINT_ID_BYTES);
    } else vectors.push(...random.wholeVector(DIMENSION, -2, 2));
  }
  const [texts, ends] = joined(each.map(() => random.pick(filters)));
  return {
    vectors: Float32Array.from(vectors),
    similarities: Uint8Array.from(each, () => random.pick(SIMILARITIES)),
    limits: Uint32Array.from(each, () => random.pick([1, 3, 10, 50, 5_000, 2 ** 32 - 1])),
    efs: new Uint32Array(count).fill(100_000),
    maxDistances: Float64Array.from(each, () => random.pick([Infinity, Infinity, 3, 0.5, 0])),
    likes,
    filters: { texts, ends },
  };
}

async function checkSearches(stores: Stores, random: Random, include: Include): Promise<void> {
  const { sharded, one } = stores;
  const queries = queriesOf(random, await allIds(one), [
    '',
    '',
    FILTER,
    '{"$content_type":"Text"}',
  ]);
  const count = queries.limits.length;
  const ask = async (points: Points, asked = queries, included = include) =>
    await points.findBatch(asked, included, MAX_BYTES, describeQuery, goesOn);
  const [found, expected] = [await ask(sharded), await ask(one)];
  expect(found.counts).toEqual(expected.counts);
  expect(found.distances).toEqual(expected.distances);
  // Of equal distances any can be within the limit: each point is to be there once, at its distance.
  const everyOne = { ...queries, limits: new Uint32Array(count).fill(2 ** 32 - 1) };
  const all = await ask(one, everyOne, NOTHING);
  let [start, startOfAll] = [0, 0];
  for (let query = 0; query < count; query += 1) {
    const end = start + (found.counts[query] ?? 0);
    const endOfAll = startOfAll + (all.counts[query] ?? 0);
    const distances = new Map<string, number | undefined>();
    for (let at = startOfAll; at < endOfAll; at += 1) {
      distances.set(formatPointId(idAt(all.records.ids, at)), all.distances[at]);
    }
    const ids = textsOf(found.records.ids).slice(start, end);
    expect(new Set(ids).size).toBe(end - start);
    expect(ids.map((id) => distances.get(id))).toEqual([...found.distances.subarray(start, end)]);
    [start, startOfAll] = [end, endOfAll];
  }
  const got = await one.getMany(found.records.ids, include, MAX_BYTES, goesOn);
  expect(textOf(found.records)).toBe(textOf(got.records));
}

/** The searches of the first interface: they know neither filters nor points whose neighbours are wanted. */
async function checkSearchBatch(stores: Stores, random: Random): Promise<void> {
  const queries = queriesOf(random, new Uint8Array(), ['']);
  const { length } = queries.limits;
  const plain = { ...queries, maxDistances: new Float64Array(length).fill(Infinity) };
  const found = await stores.sharded.searchBatch(queries, describeQuery, goesOn);
  const expected = await stores.sharded.findBatch(plain, NOTHING, MAX_BYTES, describeQuery, goesOn);
  expect(found.map((ids) => ids.length / POINT_ID_BYTES)).toEqual([...expected.counts]);
  expect(concat(found)).toEqual(expected.records.ids);
}

/** The pages are those of one store, as far as one shard is concerned, shard after shard. */
async function checkScroll(stores: Stores, newestFirst: boolean, filter?: string): Promise<void> {
  const { sharded, shards, one } = stores;
  const request = { newestFirst, filter, include: ALL };
  const whole = { ...request, limit: 1_000_000, maxBytes: MAX_BYTES };
  const { records } = await one.scroll(whole, goesOn);
  const numbers = shards.map((_, shard) => shard);
  const order = newestFirst ? numbers.toReversed() : numbers;
  const expected = order.map((shard) =>
    filterPointIds(records.ids, (at) => shardOf(records.ids, at, shards.length) === shard),
  );
  const pages: Records[] = [];
  let after: PageToken | undefined;
  do {
    const page = await sharded.scroll({ ...request, after, limit: 17, maxBytes: 2_000 }, goesOn);
    pages.push(page.records);
    after = page.next;
  } while (after !== undefined);
  const ids = concat(pages.map((page) => page.ids));
  expect(textsOf(ids)).toEqual(textsOf(concat(expected)));
  const got = await one.getMany(ids, ALL, MAX_BYTES, goesOn);
  expect(Buffer.concat(pages.map((page) => page.contents))).toEqual(
    Buffer.from(got.records.contents),
  );
  const sizes = pages.map((page) => page.contentTypes.length);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(17);
  // No page but that of an empty store is empty, and each is as full as it can be.
  expect(sizes.length > 1 && sizes.includes(0)).toBe(false);
  const isTooLarge = (page: Records): boolean =>
    page.contentTypes.length > 1 && bytesInAnswer(page) > 2_000;
  expect(pages.filter(isTooLarge)).toEqual([]);
  const full: number[] = [];
  do {
    const page = await sharded.scroll({ ...whole, after, limit: 17 }, goesOn);
    full.push(page.records.contentTypes.length);
    after = page.next;
  } while (after !== undefined);
  const total = ids.length / POINT_ID_BYTES;
  expect(full).toHaveLength(Math.max(1, Math.ceil(total / 17)));
  expect(full.slice(0, -1).every((size) => size === 17)).toBe(true);
}

test('a page takes no more bytes than it may, whichever shards its points are of', async () => {
  const { sharded } = await openFilled(3, 20);
  const request = { limit: 100, newestFirst: false, include: ALL };
  const whole = await sharded.scroll({ ...request, maxBytes: MAX_BYTES }, goesOn);
  const total = bytesInAnswer(whole.records);
  for (let maxBytes = 1; maxBytes < total; maxBytes += 9) {
    const { records, next } = await sharded.scroll({ ...request, maxBytes }, goesOn);
    const isOne = records.contentTypes.length === 1;
    expect(isOne || bytesInAnswer(records) <= maxBytes).toBe(true);
    expect(next).toBeDefined();
  }
});

describe.each([1, 2, 3, 8])('%i shards', (count) => {
  test('answer as one store does, whatever is written and asked', { timeout: 60_000 }, async () => {
    const stores = await openStores(count);
    const random = new Random(count);
    for (let round = 0; round < 30; round += 1) {
      await write(stores, random);
      await checkPoints(stores, random);
      for (const include of [NOTHING, ALL, { ...NOTHING, metadata: true }]) {
        await checkSearches(stores, random, include);
      }
      await checkSearchBatch(stores, random);
      if (round % 10 === 9) {
        await checkScroll(stores, false);
        await checkScroll(stores, true, FILTER);
      }
      if (round === 20) {
        const { points } = stores.one.status();
        await both(stores, async (some) => await some.deleteAll(points));
      }
    }
    expect(stores.one.status().points).toBeGreaterThan(0);
  });
});

/** What both stores refuse a request with. */
async function bothRefuse(
  { sharded, one }: Stores,
  ask: (points: Points) => Promise<unknown>,
): Promise<unknown> {
  const refusal = await refusalOf(ask(sharded));
  expect(refusal).toEqual(await refusalOf(ask(one)));
  expect(refusal).toHaveProperty('code');
  return refusal;
}

async function refusalOf(answer: Promise<unknown>): Promise<unknown> {
  const error: unknown = await answer.then(
    () => 'it is answered',
    (reason: unknown) => reason,
  );
  return error instanceof VectordError ? { code: error.code, message: error.message } : error;
}

/** Ids of each of so many shards, those of shard 0 first. */
function idsOfEach(each: number, shards: number): PointIds {
  return concat(
    Array.from({ length: shards }, (_, shard) => {
      const ids = assignPointIds(each);
      drawInto(ids, shard, shards);
      return ids;
    }),
  );
}

async function openFilled(count: number, each: number): Promise<Stores & { ids: PointIds }> {
  const stores = await openStores(count);
  const ids = idsOfEach(each, count);
  const batch = pointsOf(new Random(each), ids);
  await both(stores, async (points) => await points.upsert(batch, false, describeUpsert));
  return { ...stores, ids };
}

function queriesAt(vectors: readonly number[], limit: number): NeighbourQueries {
  const count = vectors.length / DIMENSION;
  return {
    vectors: Float32Array.from(vectors),
    similarities: new Uint8Array(count),
    limits: new Uint32Array(count).fill(limit),
    efs: new Uint32Array(count).fill(100_000),
    maxDistances: new Float64Array(count).fill(Infinity),
    likes: new Uint8Array(count * POINT_ID_BYTES),
    filters: { texts: new Uint8Array(), ends: new Uint32Array(count) },
  };
}

describe('what one store refuses', () => {
  test('is refused by shards in the same words', async () => {
    const stores = await openFilled(3, 5);
    const { ids } = stores;
    for (const [value, name] of [
      [NaN, 'NaN'],
      [Infinity, 'inf'],
      [-Infinity, '-inf'],
    ] as const) {
      const batch = pointsOf(new Random(1), idsOfEach(2, 3));
      batch.vectors[3 * DIMENSION + 2] = value;
      const message = `points[3]: value 2 of the vector is ${name}, expected a finite number`;
      expect(
        await bothRefuse(
          stores,
          async (points) => await points.upsert(batch, false, describeUpsert),
        ),
      ).toEqual({ code: 'INVALID_ARGUMENT', message });
      const queries = queriesAt([1, 2, 3, 4, 5, value, 7, 8], 3);
      await bothRefuse(stores, async (points) => await find(points, queries));
    }
    expect(stores.sharded.status().points).toBe(15);
    await bothRefuse(stores, async (points) => await find(points, queriesAt([1, 2, 3, 4], 0)));
    await bothRefuse(stores, async (points) => await points.deleteAll(14));
    await bothRefuse(stores, async (points) => await points.getMany(ids, ALL, 400, goesOn));
    await bothRefuse(
      stores,
      async (points) =>
        await points.findBatch(queriesAt([1, 2, 3, 4], 15), ALL, 400, describeQuery, goesOn),
    );
    const likes = concat([idAt(ids, 1), new Uint8Array(16), assignPointIds(1)]);
    const unknown = { ...queriesAt([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 1), likes };
    const vectors = Float32Array.of(1, NaN, 3, 4);
    expect(
      await bothRefuse(stores, async (points) => await find(points, { ...unknown, vectors })),
    ).toMatchObject({ code: 'NOT_FOUND' });
  });

  test('answers are as large as those of one store, and no larger', async () => {
    const stores = await openStores(8);
    const ids = idsOfEach(20, 8);
    const random = new Random(3);
    // No two distances are equal.
    const vectors = Float32Array.from(random.vector(DIMENSION * 160));
    const batch = { ...pointsOf(random, ids), vectors };
    await both(stores, async (points) => await points.upsert(batch, false, describeUpsert));
    const [texts, ends] = joined(['', FILTER, '', '']);
    const queries = {
      ...queriesAt(random.vector(2 * DIMENSION), 12),
      similarities: Uint8Array.of(0, 1, 3, 0),
      limits: Uint32Array.of(12, 7, 1, 40),
      efs: new Uint32Array(4).fill(1_000),
      maxDistances: Float64Array.of(Infinity, Infinity, Infinity, 2),
      likes: concat([new Uint8Array(16), idAt(ids, 31), new Uint8Array(16), idAt(ids, 150)]),
      filters: { texts, ends },
    };
    const { records } = await find(stores.one, queries, ALL);
    const bytes = bytesInAnswer(records);
    const ask =
      (most: number) =>
      async (points: Points): Promise<Found> =>
        await points.findBatch(queries, ALL, most, describeQuery, goesOn);
    for (let most = bytes - 1; most > bytes / 4; most -= 29) await bothRefuse(stores, ask(most));
    for (let most = bytes; most < 2 * bytes; most += 29) await both(stores, ask(most));
    const got = bytesInAnswer((await stores.one.getMany(ids, ALL, MAX_BYTES, goesOn)).records);
    const all = await both(stores, async (points) => await points.getMany(ids, ALL, got, goesOn));
    expect(all.found).not.toContain(0);
    await bothRefuse(stores, async (points) => await points.getMany(ids, ALL, got - 1, goesOn));
  });

  test('a shard is asked for no record that is in no answer', async () => {
    const stores = await openStores(2);
    const ids = idsOfEach(2, 2);
    const [contents, contentEnds] = joined(['a', 'b', 'c'.repeat(999), 'd'.repeat(100)]);
    // Of the first shard, close to 0 and far away; of the second, around 10.
    const vectors = [0, 99, 9, 10].flatMap((value) => [value, 0, 0, 0]);
    const batch = {
      ...pointsOf(new Random(1), ids),
      vectors: Float32Array.from(vectors),
      contents,
      contentEnds,
    };
    await both(stores, async (points) => await points.upsert(batch, false, describeUpsert));
    const queries = queriesAt([0, 0, 0, 0, 10, 0, 0, 0], 1);
    const content = { ...NOTHING, content: true };
    const most = 2 * POINT_ID_BYTES + 1 + 100;
    const found = await both(
      stores,
      async (points) => await points.findBatch(queries, content, most, describeQuery, goesOn),
    );
    expect(found.records.ids).toEqual(concat([idAt(ids, 0), idAt(ids, 3)]));
    // Ids alone are never too large.
    await both(
      stores,
      async (points) => await points.findBatch(queries, NOTHING, 1, describeQuery, goesOn),
    );
  });

  test('a token that is none of these shards', async () => {
    const { sharded, one } = await openFilled(3, 5);
    const two = new ShardedPoints([await openShard(), await openShard()], DIMENSION);
    const page = { limit: 2, newestFirst: false, include: NOTHING, maxBytes: MAX_BYTES };
    const ask = async (points: Points, after: PageToken | undefined) =>
      await points.scroll({ ...page, after }, goesOn);
    const { next } = await ask(sharded, undefined);
    const none = await refusalOf(ask(one, new Uint8Array(3)));
    expect(none).toMatchObject({ code: 'INVALID_ARGUMENT' });
    const ofOne = (await ask(one, undefined)).next;
    const beyond = Uint8Array.of(0, 3, 0, 3);
    for (const after of [new Uint8Array(3), ofOne, beyond, next?.slice(0, -1)]) {
      expect(await refusalOf(ask(sharded, after))).toEqual(none);
    }
    expect(await refusalOf(ask(two, next))).toEqual(none);
    const other = (await ask((await openFilled(3, 5)).sharded, undefined)).next;
    expect(await refusalOf(ask(sharded, other))).toMatchObject({
      message: 'after is the next of a page of another store, expected one of this store',
    });
  });
});

async function find(points: Points, queries: NeighbourQueries, include = NOTHING): Promise<Found> {
  return await points.findBatch(queries, include, MAX_BYTES, describeQuery, goesOn);
}

describe('a shard that does not answer', () => {
  /** Three shards of two points each, of which the second does not answer. */
  async function openBroken(): Promise<Stores & { ids: PointIds }> {
    const stores = await openFilled(3, 2);
    await stores.shards[1]?.close();
    return stores;
  }

  test('is named in the error of a read', async () => {
    const { sharded, ids } = await openBroken();
    const closed = { code: 'UNAVAILABLE', message: 'shard 1: the engine is closed' };
    const page = { limit: 4, include: NOTHING, maxBytes: MAX_BYTES };
    for (const ask of [
      async () => await sharded.get(idAt(ids, 2)),
      async () => await sharded.getMany(ids, ALL, MAX_BYTES, goesOn),
      async () => await sharded.count(FILTER, goesOn),
      async () => await find(sharded, queriesAt([1, 2, 3, 4], 3)),
      async () => await sharded.searchBatch(queriesAt([1, 2, 3, 4], 3), describeQuery, goesOn),
      async () => {
        const { next } = await sharded.scroll({ ...page, newestFirst: false }, goesOn);
        await sharded.scroll({ ...page, newestFirst: false, after: next }, goesOn);
      },
    ]) {
      expect(await refusalOf(ask())).toEqual(closed);
    }
    // What it does not have is read.
    const others = concat([idAt(ids, 0), idAt(ids, 5)]);
    const { found } = await sharded.getMany(others, ALL, MAX_BYTES, goesOn);
    expect(found).toEqual(Uint8Array.of(1, 1));
  });

  test('may leave a write done in part, and the error says which', async () => {
    const { sharded, ids } = await openBroken();
    const [first, second, third, fourth, fifth, sixth] = textsOf(ids);
    const failure = (written: string, not: string, mend: string): object => ({
      code: 'OUTCOME_UNKNOWN',
      message:
        `the request may be written in part: written in ${written}; not written in ${not}, as ` +
        `the engine is closed; ${mend}`,
    });
    const more = pointsOf(new Random(1), idsOfEach(4, 3));
    expect(await refusalOf(sharded.upsert(more, false, describeUpsert))).toEqual(
      failure(
        'shard 0 (4 points: points[0], points[1], points[2], ...) and ' +
          'shard 2 (4 points: points[8], points[9], points[10], ...)',
        'shard 1 (4 points: points[4], points[5], points[6], ...)',
        'send it again: what is stored stays so, but a point without an id would come twice',
      ),
    );
    const stored = await sharded.getMany(more.ids.slice(0, 64), NOTHING, MAX_BYTES, goesOn);
    expect(stored.found).toEqual(Uint8Array.of(1, 1, 1, 1));
    const done = `shard 0 (2 points: ${first}, ${second}) and shard 2 (2 points: ${fifth}, ${sixth})`;
    const not = `shard 1 (2 points: ${third}, ${fourth})`;
    expect(await refusalOf(sharded.update(updateOf(new Random(1), ids)))).toEqual(
      failure(done, not, 'send it again: what is changed stays so'),
    );
    expect(await refusalOf(sharded.deleteMany(ids))).toEqual(
      failure(done, not, 'send it again: what is deleted counts as missing'),
    );
  });

  test('is named where nothing is written', async () => {
    const { sharded, shards, ids } = await openBroken();
    const closed = (shard: number) => ({
      code: 'UNAVAILABLE',
      message: `shard ${shard}: the engine is closed`,
    });
    expect(await refusalOf(sharded.deleteMany(ids.slice(32, 64)))).toEqual(closed(1));
    expect(await refusalOf(sharded.delete(ids.slice(32, 48)))).toEqual(closed(1));
    const counts = () => [shards[0], shards[2]].map((shard) => shard?.status().points);
    const before = counts();
    expect(await refusalOf(sharded.deleteMatching(FILTER))).toEqual(closed(1));
    expect(counts()).toEqual(before);
    await shards[0]?.close();
    await shards[2]?.close();
    expect(await refusalOf(sharded.deleteMany(ids))).toEqual(closed(0));
  });
});

test('a batch whose ids are drawn goes to one shard after the other, but not to a full one', async () => {
  const shards = await Promise.all([openShard(), openShard(), openShard()]);
  const full = Object.assign(await openEngine(), { isFull: () => true, isSilent: () => false });
  const sharded = new ShardedPoints([...shards, full], DIMENSION);
  const sizes = (): number[] => [...shards, full].map((shard) => shard.status().points);
  const batch = (): UpsertBatch => pointsOf(new Random(1), assignPointIds(5));
  await sharded.insert(batch(), describeUpsert);
  await sharded.upsert({ ...batch(), areIdsDrawn: true }, false, describeUpsert);
  expect(sizes()).toEqual([5, 5, 0, 0]);
  await sharded.insert(batch(), describeUpsert);
  await sharded.insert(batch(), describeUpsert);
  expect(sizes()).toEqual([10, 5, 5, 0]);
  const ids = idsOfEach(1, 4);
  const given = pointsOf(new Random(1), ids);
  const message =
    'nothing was written: the disks of most replicas of shard 3 are full: free some space there, ' +
    'or delete points';
  const refusal = { code: 'STORAGE_FULL', message };
  expect(await refusalOf(sharded.upsert(given, false, describeUpsert))).toEqual(refusal);
  expect(await refusalOf(sharded.update(updateOf(new Random(1), ids)))).toEqual(refusal);
  expect(sizes()).toEqual([10, 5, 5, 0]);
  expect(await sharded.deleteMany(ids)).toEqual(new Uint8Array(4));
});

test('a batch whose ids are drawn goes to no shard that has not answered, if another has', async () => {
  const [first, second] = [await openShard(), await openShard()];
  let isSilent = true;
  const silent = Object.assign(first, { isSilent: () => isSilent });
  const sharded = new ShardedPoints([silent, second], DIMENSION);
  const sizes = (): number[] => [first, second].map((shard) => shard.status().points);
  const insert = async (): Promise<void> =>
    await sharded.insert(pointsOf(new Random(1), assignPointIds(5)), describeUpsert);
  await insert();
  await insert();
  expect(sizes()).toEqual([0, 10]);
  Object.assign(second, { isSilent: () => true });
  await insert();
  expect(sizes()).toEqual([5, 10]);
  isSilent = false;
  Object.assign(second, { isSilent: () => false });
  await insert();
  await insert();
  expect(sizes()).toEqual([10, 15]);
});

test.each([false, true])(
  'pages hold each point that stays once, whatever is deleted meanwhile, newest first: %s',
  async (newestFirst) => {
    const { sharded, ids } = await openFilled(3, 40);
    const random = new Random(5);
    const gone = new Set<string>();
    const seen: string[] = [];
    let after: PageToken | undefined;
    do {
      const page = { after, limit: 7, newestFirst, include: NOTHING, maxBytes: MAX_BYTES };
      const { records, next } = await sharded.scroll(page, goesOn);
      seen.push(...textsOf(records.ids));
      after = next;
      // Also all of a shard that is still to come, and the point behind which a page begins.
      const last = records.ids.slice(-POINT_ID_BYTES);
      const middle = seen.length < 20 ? ids.slice(40 * POINT_ID_BYTES, 80 * POINT_ID_BYTES) : last;
      const some = concat([middle, filterPointIds(ids, () => random.below(20) === 0)]);
      const once = distinct(some);
      await sharded.deleteMany(once);
      for (const id of textsOf(once)) gone.add(id);
    } while (after !== undefined);
    expect(new Set(seen).size).toBe(seen.length);
    const left = textsOf(ids).filter((id) => !gone.has(id));
    expect(left.length).toBeGreaterThan(10);
    expect(seen).toEqual(expect.arrayContaining(left));
  },
);

test('the end of a request reaches all shards, by one listener', async () => {
  const { sharded } = await openFilled(3, 100);
  const many = 200_000;
  const queries = queriesAt(
    Array.from({ length: DIMENSION * many }, () => 1),
    1,
  );
  const listeners: (() => void)[] = [];
  const answer = sharded.findBatch(queries, NOTHING, MAX_BYTES, describeQuery, (listener) =>
    listeners.push(listener),
  );
  await setImmediate();
  expect(listeners).toHaveLength(1);
  for (const listener of listeners) listener();
  await expect(answer).rejects.toMatchObject({ code: 'CANCELLED' });
});

test('the state is that of all shards', async () => {
  const { sharded, shards, one } = await openFilled(3, 10);
  expect(sharded.status()).toMatchObject({ points: 30, isFull: false, faults: [] });
  const [limits, efs] = [Uint32Array.of(5, 100), Uint32Array.of(7, 1)];
  expect(sharded.searchWork(limits, efs)).toBe(3 * (7 + 10));
  expect(one.searchWork(limits, efs)).toBe(7 + 30);
  // As broad as all points, as a query with a filter is: each of them is looked at once.
  expect(sharded.searchWork(Uint32Array.of(1), Uint32Array.of(30))).toBe(30);
  expect(shards.map((shard) => shard.status().points)).toEqual([10, 10, 10]);
  expect([sharded.search(), sharded.find()]).toEqual([undefined, undefined]);
});
