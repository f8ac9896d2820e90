import { describe, expect, onTestFinished, test } from 'vitest';
import { makeTemporaryFolder } from '../../test/support/folders.js';
import { Random } from '../../test/support/random.js';
import { Similarity } from '../core/model.js';
import type { PageToken } from '../core/page-token.js';
import {
  assignPointIds,
  filterPointIds,
  formatPointId,
  POINT_ID_BYTES,
  type PointIds,
} from '../core/point-id.js';
import type { Points } from '../core/points.js';
import {
  Given,
  type Include,
  type NeighbourQueries,
  type Records,
  type UpdateBatch,
  type UpsertBatch,
} from '../core/records.js';
import { describeQuery } from '../core/rules.js';
import { describeUpsert } from '../core/upserts.js';
import { Engine } from '../engine/native.js';
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
  return Object.assign(await openEngine(), { isFull: () => false });
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
  expect(sizes.slice(0, -1)).not.toContain(0);
}

describe.each([1, 2, 3, 8])('%i shards', (count) => {
  test('answer as one store does, whatever is written and asked', { timeout: 60_000 }, async () => {
    const stores = await openStores(count);
    const random = new Random(count);
    for (let round = 0; round < 60; round += 1) {
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
      if (round === 40) {
        const { points } = stores.one.status();
        await both(stores, async (some) => await some.deleteAll(points));
      }
    }
    expect(stores.one.status().points).toBeGreaterThan(0);
  });
});
