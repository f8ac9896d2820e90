import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { makeTemporaryFolder } from '../../test/support/folders.js';
import { Similarity } from '../core/model.js';
import type { PointIds } from '../core/point-id.js';
import { Given, type Include, type Records, type UpsertBatch } from '../core/records.js';
import { describePoint, describeQuery } from '../core/rules.js';
import { Engine } from './native.js';
import { release } from './release.js';

const NOTHING: Include = { vector: false, contentType: false, content: false, metadata: false };
const ALL: Include = { vector: true, contentType: true, content: true, metadata: true };
const NO_FILTER = new Uint8Array();
const MAX_BYTES = 1 << 20;

let engine: Engine;

beforeEach(async () => {
  engine = await Engine.open({
    dimension: 2,
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
});

/** The end of no request. */
const goesOn = (): void => {};

function idsOf(...numbers: number[]): PointIds {
  const ids = new Uint8Array(16 * numbers.length);
  for (const [at, number] of numbers.entries()) ids[16 * at + 15] = number;
  return ids;
}

/** Texts one after the other, and where each ends. */
function joined(texts: readonly string[]): [Uint8Array, Uint32Array] {
  let end = 0;
  const ends = Uint32Array.from(texts, (text) => (end += Buffer.byteLength(text)));
  return [new Uint8Array(Buffer.from(texts.join(''))), ends];
}

/** Points at (number, 0), whose texts say which they are. */
function points(...numbers: number[]): UpsertBatch {
  const [contents, contentEnds] = joined(numbers.map((number) => `content ${number}`));
  const [metadata, metadataEnds] = joined(numbers.map((number) => `{"n":${number}}`));
  return {
    ids: idsOf(...numbers),
    vectors: Float32Array.from(numbers.flatMap((number) => [number, 0])),
    contentTypes: Uint8Array.from(numbers, (number) => number % 2),
    contents,
    contentEnds,
    metadata,
    metadataEnds,
  };
}

/** What an answer with everything holds of these points. */
function recordsOf(...numbers: number[]): Records {
  return points(...numbers);
}

test('an upsert stores, replaces or keeps, and counts each', async () => {
  const both = points(1, 2);
  expect(await engine.upsert(both, true, describePoint)).toEqual({
    stored: 2,
    replaced: 0,
    kept: 0,
  });
  const more = { ...points(2, 3), contentTypes: Uint8Array.of(1, 1) };
  expect(await engine.upsert(more, true, describePoint)).toEqual({
    stored: 1,
    replaced: 0,
    kept: 1,
  });
  const { records } = await engine.getMany(idsOf(2), ALL, MAX_BYTES, goesOn);
  expect(records).toEqual(recordsOf(2));
  expect(await engine.upsert(more, false, describePoint)).toEqual({
    stored: 0,
    replaced: 2,
    kept: 0,
  });
  const replaced = await engine.getMany(idsOf(2), ALL, MAX_BYTES, goesOn);
  expect(replaced.records.contentTypes).toEqual(Uint8Array.of(1));
});

test('the point of an upsert that is not finite is named', async () => {
  const batch = points(1, 2);
  batch.vectors[3] = NaN;
  await expect(engine.upsert(batch, false, describePoint)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: 'vectors[1]: value 1 of the vector is NaN, expected a finite number',
  });
});

test('points are read with the parts that are included, and told where there is none', async () => {
  await engine.upsert(points(1, 2, 3), false, describePoint);
  const ids = idsOf(3, 9, 1);
  const all = await engine.getMany(ids, ALL, MAX_BYTES, goesOn);
  expect(all).toEqual({ records: recordsOf(3, 1), found: Uint8Array.of(1, 0, 1) });
  const contents = await engine.getMany(ids, { ...NOTHING, content: true }, MAX_BYTES, goesOn);
  const none = new Uint8Array();
  expect(contents.records).toEqual({
    ...recordsOf(3, 1),
    vectors: new Float32Array(),
    contentTypes: none,
    metadata: none,
    metadataEnds: new Uint32Array(),
  });
});

test('an answer that is too large is TOO_LARGE', async () => {
  await engine.upsert(points(1), false, describePoint);
  await expect(engine.getMany(idsOf(1), ALL, 10, goesOn)).rejects.toMatchObject({
    code: 'TOO_LARGE',
    message:
      'the answer takes more than 10 bytes (MAX_REQUEST_BYTES): ask for fewer points, or include less',
  });
});

test('an update changes what is given, and leaves the rest', async () => {
  await engine.upsert(points(1, 2, 3), false, describePoint);
  const [contents, contentEnds] = joined(['new', '', 'unused', 'x']);
  const [metadata, metadataEnds] = joined(['unused', '', '{}', '']);
  const given = [Given.Content, Given.Metadata, Given.ContentType + Given.Metadata, 7];
  const changed = await engine.update({
    ids: idsOf(1, 2, 3, 4),
    given: Uint8Array.from(given),
    contentTypes: Uint8Array.of(0, 1, 0, 0),
    contents,
    contentEnds,
    metadata,
    metadataEnds,
  });
  expect(changed).toEqual(Uint8Array.of(1, 1, 1, 0));
  const { records } = await engine.getMany(idsOf(1, 2, 3), ALL, MAX_BYTES, goesOn);
  const [newContents, newContentEnds] = joined(['new', 'content 2', 'content 3']);
  const [newMetadata, newMetadataEnds] = joined(['{"n":1}', '', '{}']);
  expect(records).toEqual({
    ...recordsOf(1, 2, 3),
    contentTypes: Uint8Array.of(1, 0, 0),
    contents: newContents,
    contentEnds: newContentEnds,
    metadata: newMetadata,
    metadataEnds: newMetadataEnds,
  });
});

test('pages follow each other in both directions', async () => {
  await engine.upsert(points(1, 2, 3), false, describePoint);
  const request = { limit: 2, newestFirst: false, include: ALL, maxBytes: MAX_BYTES };
  const first = await engine.scroll(request, goesOn);
  expect(first.records).toEqual(recordsOf(1, 2));
  const second = await engine.scroll({ ...request, after: first.next }, goesOn);
  expect(second).toEqual({ records: recordsOf(3) });
  const newest = await engine.scroll({ ...request, newestFirst: true }, goesOn);
  expect(newest.records).toEqual(recordsOf(3, 2));
});

test('points are deleted by their ids, or all of them where their number is known', async () => {
  await engine.upsert(points(1, 2, 3), false, describePoint);
  expect(await engine.deleteMany(idsOf(2, 9))).toEqual(Uint8Array.of(1, 0));
  await expect(engine.deleteAll(3)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: 'there are 2 points, expected 3',
  });
  await engine.deleteAll(2);
  expect(engine.status().points).toBe(0);
});

test('a search answers distances and records of the neighbours that are near enough', async () => {
  await engine.upsert(points(1, 2, 3), false, describePoint);
  const query = {
    vector: Float32Array.of(0, 0),
    similarity: Similarity.Euclidean,
    limit: 3,
    ef: 9,
  };
  const found = engine.find(
    { ...query, maxDistance: 2, filter: NO_FILTER },
    ALL,
    MAX_BYTES,
    describeQuery,
  );
  expect(found).toEqual({
    counts: Uint32Array.of(2),
    distances: Float64Array.of(1, 2),
    records: recordsOf(1, 2),
  });
  const batch = {
    vectors: Float32Array.of(0, 0, 4, 0),
    similarities: Uint8Array.of(Similarity.Euclidean, Similarity.Manhattan),
    limits: Uint32Array.of(2, 1),
    efs: Uint32Array.of(9, 9),
    maxDistances: Float64Array.of(Infinity, 5),
    likes: new Uint8Array(32),
    filters: { texts: new Uint8Array(), ends: new Uint32Array(2) },
  };
  const search = async (maxBytes: number) =>
    await engine.findBatch(batch, ALL, maxBytes, describeQuery, goesOn);
  expect(await search(MAX_BYTES)).toEqual({
    counts: Uint32Array.of(2, 1),
    distances: Float64Array.of(1, 2, 1),
    records: recordsOf(1, 2, 3),
  });
  await expect(search(10)).rejects.toMatchObject({ code: 'TOO_LARGE' });
});

test('the neighbours of a point are found without itself, and those of no point are NOT_FOUND', async () => {
  await engine.upsert(points(1, 2, 3), false, describePoint);
  const like = (number: number) => ({
    vector: new Float32Array(),
    similarity: Similarity.Euclidean,
    limit: 1,
    ef: 9,
    maxDistance: Infinity,
    like: idsOf(number),
    filter: NO_FILTER,
  });
  expect(engine.find(like(3), NOTHING, MAX_BYTES, describeQuery)?.records.ids).toEqual(idsOf(2));
  const ofNone = (query: number): unknown =>
    expect.stringMatching(
      `^queries\\[${query}\\]: like is [-0-9a-f]{36}, which is the id of no point$`,
    );
  const missing = { code: 'NOT_FOUND', message: ofNone(0) };
  expect(() => engine.find(like(9), NOTHING, MAX_BYTES, describeQuery)).toThrow(
    expect.objectContaining(missing),
  );
  const batch = {
    vectors: Float32Array.of(0, 0),
    similarities: Uint8Array.of(0, 0),
    limits: Uint32Array.of(1, 1),
    efs: Uint32Array.of(9, 9),
    maxDistances: Float64Array.of(Infinity, Infinity),
    filters: { texts: new Uint8Array(), ends: new Uint32Array(2) },
  };
  const search = async (number: number) =>
    await engine.findBatch(
      { ...batch, likes: new Uint8Array([...new Uint8Array(16), ...idsOf(number)]) },
      NOTHING,
      MAX_BYTES,
      describeQuery,
      goesOn,
    );
  expect((await search(3)).records.ids).toEqual(idsOf(1, 2));
  await expect(search(9)).rejects.toMatchObject({
    code: 'NOT_FOUND',
    message: ofNone(1),
  });
});

test('what nobody waits for any more is given up', async () => {
  // So much work that it cannot be done before it is given up.
  await engine.upsert(points(...Array.from({ length: 200 }, (_, at) => at)), false, describePoint);
  const queries = 500_000;
  const batch = {
    vectors: new Float32Array(2 * queries),
    similarities: new Uint8Array(queries).fill(Similarity.Cosine),
    limits: new Uint32Array(queries).fill(1),
    efs: new Uint32Array(queries).fill(1),
    maxDistances: new Float64Array(queries).fill(Infinity),
    likes: new Uint8Array(16 * queries),
    filters: { texts: new Uint8Array(), ends: new Uint32Array(queries) },
  };
  let end = goesOn;
  const answer = engine.findBatch(
    batch,
    NOTHING,
    MAX_BYTES,
    describeQuery,
    (listener) => (end = listener),
  );
  end();
  await expect(answer).rejects.toMatchObject({ code: 'CANCELLED' });
});

test('large arrays of records are freed once nobody reads them', async () => {
  const content = 'x'.repeat(5_000);
  const one = { ...points(1), contents: Buffer.from(content), contentEnds: Uint32Array.of(5_000) };
  await engine.upsert(one, false, describePoint);
  const { records } = await engine.getMany(idsOf(1), ALL, MAX_BYTES, goesOn);
  expect(Buffer.from(records.contents).toString()).toBe(content);
  release(records);
  expect([records.contents.length, records.vectors.length]).toEqual([0, 2]);
  release(records);
});

test('arrays of records that share their memory stay', () => {
  const message = new Uint8Array(10_000).fill(7);
  release({
    ...points(1),
    contents: message.subarray(0, 5_000),
    metadata: message.subarray(5_000),
  });
  expect(message).toEqual(new Uint8Array(10_000).fill(7));
});
