import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { readConfig } from '../../src/config/config.js';
import type { Limits } from '../../src/core/limits.js';
import { Similarity } from '../../src/core/model.js';
import { POINT_ID_BYTES, type PointIds } from '../../src/core/point-id.js';
import { PointsService } from '../../src/core/points-service.js';
import { Given, type Include } from '../../src/core/records.js';
import { toNeighbourQueries } from '../../src/core/searches.js';
import { describeQuery } from '../../src/core/rules.js';
import { Engine } from '../../src/engine/native.js';
import { makeTemporaryFolder } from '../support/folders.js';

const NOTHING: Include = { vector: false, contentType: false, content: false, metadata: false };
const CONTENT: Include = { ...NOTHING, content: true };
const NONE = new Uint8Array();

/** The end of no request. */
const goesOn = (): void => {};

let service: PointsService;

async function open(
  settings: Record<string, string> = {},
  bounds: Partial<Limits> = {},
): Promise<PointsService> {
  const config = readConfig({ DATA_PATH: makeTemporaryFolder(), DIMENSION: '2', ...settings });
  const engine = await Engine.open({ ...config, path: config.dataPath });
  onTestFinished(async () => await engine.close());
  const limits = { ...config, ...bounds };
  return new PointsService(engine, { dimension: 2, limits, defaultEf: 100 });
}

beforeEach(async () => {
  service = await open();
});

function idsOf(...numbers: number[]): PointIds {
  const ids = new Uint8Array(POINT_ID_BYTES * numbers.length);
  for (const [at, number] of numbers.entries()) ids[POINT_ID_BYTES * at + 15] = number;
  return ids;
}

function numbersOf(ids: PointIds): number[] {
  return Array.from({ length: ids.length / 16 }, (_, at) => ids[16 * at + 15] ?? 0);
}

/** Stores points at (number, 0), each with 100 bytes of content. */
async function store(...numbers: number[]): Promise<void> {
  await service.upsert(
    {
      ids: idsOf(...numbers),
      vectors: Float32Array.from(numbers.flatMap((number) => [number, 0])),
      contentTypes: new Uint8Array(numbers.length),
      contents: new Uint8Array(100 * numbers.length).fill(0x61),
      contentEnds: Uint32Array.from(numbers, (_, at) => 100 * (at + 1)),
      metadata: NONE,
      metadataEnds: new Uint32Array(numbers.length),
    },
    false,
  );
}

function queries(...likes: number[]) {
  const list = {
    vectors: Float32Array.from(likes.filter((like) => like === 0).flatMap(() => [0, 0])),
    similarities: new Uint8Array(likes.length).fill(Similarity.Euclidean),
    limits: new Float64Array(likes.length).fill(2),
    efs: new Float64Array(likes.length),
    maxDistances: new Float64Array(likes.length).fill(Infinity),
    likes: idsOf(...likes),
    filters: { texts: NONE, ends: new Uint32Array(likes.length) },
  };
  let end = 0;
  const vectorEnds = Uint32Array.from(likes, (like) => (end += like === 0 ? 2 : 0));
  return toNeighbourQueries({ ...list, vectorEnds }, service.rules, describeQuery);
}

async function countAll(): Promise<number> {
  return await service.count(undefined, goesOn);
}

describe('writes', () => {
  it('of no point change nothing', async () => {
    await store();
    const nothing = { count: 0, missing: NONE };
    expect(await service.delete({ ids: NONE })).toEqual(nothing);
    const parts = { contents: NONE, contentEnds: new Uint32Array(), contentTypes: NONE };
    const metadata = { metadata: NONE, metadataEnds: new Uint32Array() };
    const update = { ids: NONE, given: NONE, ...parts, ...metadata };
    expect(await service.update(update)).toEqual(nothing);
    expect(await countAll()).toBe(0);
  });

  it('tell how many points there were, and which are missing', async () => {
    await store(1, 2, 3);
    const update = await service.update({
      ids: idsOf(9, 1),
      given: Uint8Array.of(Given.Content, Given.Content),
      contentTypes: new Uint8Array(2),
      contents: NONE,
      contentEnds: new Uint32Array(2),
      metadata: NONE,
      metadataEnds: new Uint32Array(2),
    });
    expect(update).toEqual({ count: 1, missing: idsOf(9) });
    const deleted = await service.delete({ ids: idsOf(3, 9, 3, 9, 1) });
    expect(deleted).toEqual({ count: 2, missing: idsOf(9) });
    expect(await countAll()).toBe(1);
  });

  it('delete all points only for who knows their number', async () => {
    await store(1, 2);
    await expect(service.delete({ ids: NONE, confirm: 1 })).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    await expect(service.delete({ ids: NONE, confirm: 2 ** 60 })).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    expect(await service.delete({ ids: NONE, confirm: 2 })).toEqual({ count: 2, missing: NONE });
    expect(await countAll()).toBe(0);
  });
});

describe('get', () => {
  it('answers each point once, and the ids of those that are missing', async () => {
    await store(1, 2);
    const { records, missing } = await service.get(idsOf(2, 8, 2, 1, 8), NOTHING, goesOn);
    expect([numbersOf(records.ids), numbersOf(missing)]).toEqual([[2, 1], [8]]);
  });

  it('refuses an answer of more than MAX_REQUEST_BYTES', async () => {
    service = await open({ MAX_REQUEST_BYTES: '400' });
    await store(1, 2, 3, 4);
    const { records } = await service.get(idsOf(1, 2, 3), CONTENT, goesOn);
    expect(records.contents).toHaveLength(300);
    const all = service.get(idsOf(1, 2, 3, 4), CONTENT, goesOn);
    await expect(all).rejects.toMatchObject({ code: 'TOO_LARGE' });
  });
});

describe('search', () => {
  it('answers one query, and several', async () => {
    await store(1, 2, 3);
    const one = await service.search(queries(0), false, NOTHING, goesOn);
    expect([numbersOf(one.records.ids), [...one.distances]]).toEqual([
      [1, 2],
      [1, 2],
    ]);
    const two = await service.search(queries(3, 0), true, NOTHING, goesOn);
    expect(numbersOf(two.records.ids)).toEqual([2, 1, 1, 2]);
    expect([...two.counts]).toEqual([2, 2]);
  });

  it('counts an exact query of a list as one that looks at each point once', async () => {
    service = await open({ MAX_SEARCH_WORK: '6' });
    await store(1, 2, 3);
    const exact = (count: number) => {
      const asked = queries(...Array.from({ length: count }, () => 0));
      return { ...asked, efs: asked.efs.fill(2 ** 32 - 1) };
    };
    const { counts } = await service.search(exact(2), true, NOTHING, goesOn);
    expect([...counts]).toEqual([2, 2]);
    const refused = service.search(exact(3), true, NOTHING, goesOn);
    await expect(refused).rejects.toMatchObject({ code: 'TOO_LARGE' });
  });

  it('counts a query without ef as one of HNSW_EF, though its default is broader', async () => {
    const all = Array.from({ length: 250 }, (_, at) => at + 1);
    const taken = async (limit: number, maxSearchWork: number): Promise<number[]> => {
      service = await open({ MAX_SEARCH_WORK: String(maxSearchWork) });
      await store(...all);
      const asked = queries(0, 0);
      const found = await service.search(
        { ...asked, limits: asked.limits.fill(limit) },
        true,
        NOTHING,
        goesOn,
      );
      return [...found.counts];
    };
    expect(await taken(10, 200)).toEqual([10, 10]);
    await expect(taken(10, 199)).rejects.toThrow('queries ask for 200 candidates');
    expect(await taken(120, 240)).toEqual([120, 120]);
    await expect(taken(120, 239)).rejects.toThrow('queries ask for 240 candidates');
    // A limit of 32 bits, to which greater ones are cut.
    expect(await taken(2 ** 32 - 1, 500)).toEqual([250, 250]);
  });

  it('is TOO_LARGE where no service of this memory can ever answer it', async () => {
    service = await open({}, { maxInflightBytes: 63 });
    await store(1, 2, 3);
    const refused = service.search(queries(0, 0), true, NOTHING, goesOn);
    await expect(refused).rejects.toMatchObject({ code: 'TOO_LARGE' });
  });

  it('names the query of a list that is refused, and of one alone nothing', async () => {
    await store(1);
    const alone = service.search(queries(7), false, NOTHING, goesOn);
    await expect(alone).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringMatching(/^like is [-0-9a-f]{36}, which is the id of no point$/),
    });
    const listed = service.search(queries(0, 7), true, NOTHING, goesOn);
    await expect(listed).rejects.toThrow(
      /^queries\[1\]: like is [-0-9a-f]{36}, which is the id of no point$/,
    );
  });
});

describe('scroll', () => {
  const request = { newestFirst: false, include: NOTHING };

  it('goes from page to page by the next of each', async () => {
    await store(1, 2, 3);
    const first = await service.scroll({ ...request, limit: 2 }, goesOn);
    expect(numbersOf(first.records.ids)).toEqual([1, 2]);
    const second = await service.scroll({ ...request, limit: 2, after: first.next }, goesOn);
    expect([numbersOf(second.records.ids), second.next]).toEqual([[3], undefined]);
    const newest = { ...request, newestFirst: true, limit: 1e300 };
    const all = await service.scroll(newest, goesOn);
    expect(numbersOf(all.records.ids)).toEqual([3, 2, 1]);
  });

  it('ends a page before it takes more than MAX_REQUEST_BYTES', async () => {
    service = await open({ MAX_REQUEST_BYTES: '400' });
    await store(1, 2, 3, 4);
    const page = await service.scroll({ ...request, include: CONTENT, limit: 9 }, goesOn);
    expect(numbersOf(page.records.ids)).toEqual([1, 2, 3]);
    expect(page.next).toBeDefined();
  });

  it('refuses a next that is none, or of another store, and a limit of 0', async () => {
    await store(1, 2);
    const { next = '' } = await service.scroll({ ...request, limit: 1 }, goesOn);
    for (const after of ['', 'x', `${next}=`, next.slice(1), `${next}AAAA`, ` ${next}`]) {
      const page = service.scroll({ ...request, limit: 1, after }, goesOn);
      await expect(page, after).rejects.toThrow('after is no next of a page');
    }
    const other = await open();
    const foreign = other.scroll({ ...request, limit: 1, after: next }, goesOn);
    await expect(foreign).rejects.toThrow('after is the next of a page of another store');
    const none = service.scroll({ ...request, limit: 0 }, goesOn);
    await expect(none).rejects.toThrow('limit is 0, expected at least 1');
  });
});
