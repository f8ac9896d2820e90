import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fuzzing, FUZZ_TIMEOUT_MS } from '../../../../test/support/fuzz.js';
import { mutated } from '../../../../test/support/mutate.js';
import * as wire from '../../../../test/support/wire.js';
import { readConfig } from '../../../config/config.js';
import { VectordError } from '../../../core/errors.js';
import { parsePointId, POINT_ID_BYTES } from '../../../core/point-id.js';
import type { Records } from '../../../core/records.js';
import type { Rules } from '../../../core/rules.js';
import * as generated from '../../../gen/vectord/v1/points.js';
import { readCount, readDelete, readGet, readScroll } from './read-requests.js';
import { readSearch } from './read-search.js';
import { readUpdate } from './read-update.js';
import { readUpsert } from './read-upsert.js';
import { writeFound, writeGot, writePage } from './write-answers.js';

const DIMENSION = 3;
const RULES: Rules = { dimension: DIMENSION, limits: readConfig({}), defaultEf: 77 };
const utf8 = new TextDecoder();

function check<Values>(property: fc.IProperty<Values>): void {
  fc.assert(property, fuzzing(200));
}

const id = fc.uuid().filter((text) => text !== '00000000-0000-0000-0000-000000000000');
const finite = fc.float({ noNaN: true, noDefaultInfinity: true });
const vector = fc.array(finite, { minLength: DIMENSION, maxLength: DIMENSION });
const content = fc.string({ unit: 'grapheme' });
const contentType = fc.constantFrom(1, 2);
const metadata = fc.constantFrom('', '{}', '{"a":[1,2.50]}', '{"é":"🦀"}');

/** The core's numbers of the content types of the protocol: Image is 0, and Text 1. */
const coreContentType = (type: number): number => (type === 2 ? 0 : 1);

function textsOf(bytes: Uint8Array, ends: Uint32Array): string[] {
  return Array.from(ends, (end, at) => utf8.decode(bytes.subarray(ends[at - 1] ?? 0, end)));
}

function idBytes(texts: readonly string[]): Uint8Array {
  return new Uint8Array(Buffer.concat(texts.map((text) => parsePointId(text) ?? Buffer.alloc(0))));
}

const filterValue: fc.Arbitrary<generated.FilterValue> = fc.oneof(
  fc.record({ text: content }),
  fc.record({ number: fc.double({ noNaN: true, noDefaultInfinity: true }) }),
  fc.record({ boolean: fc.boolean() }),
);
const filterValues = fc.record({ values: fc.array(filterValue, { maxLength: 3 }) });
const ordered = filterValue.filter((value) => value.boolean === undefined);

const condition: fc.Arbitrary<generated.Condition> = fc
  .tuple(
    content.filter((key) => !key.startsWith('$')),
    fc.oneof(
      fc.record({ eq: filterValue }),
      fc.record({ ne: filterValue }),
      fc.record({ gt: ordered }),
      fc.record({ gte: ordered }),
      fc.record({ lt: ordered }),
      fc.record({ lte: ordered }),
      fc.record({ anyOf: filterValues }),
      fc.record({ noneOf: filterValues }),
      fc.record({ exists: fc.boolean() }),
    ),
  )
  .map(([field, test]) => ({ field, ...test }));

const { filter } = fc.letrec<{ filter: generated.Filter; list: generated.FilterList }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 4 },
    fc.record({ condition }),
    fc.constant({}),
    fc.record({ all: tie('list') }),
    fc.record({ any: tie('list') }),
    fc.record({ negated: tie('filter') }),
  ),
  list: fc.record({ filters: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }) }),
}));

/** The object that means the same as a message. */
function objectOf({ all, any, negated, condition: one }: generated.Filter): unknown {
  if (all !== undefined) return { $and: all.filters.map(objectOf) };
  if (any !== undefined) return { $or: any.filters.map(objectOf) };
  if (negated !== undefined) return { $not: objectOf(negated) };
  if (one === undefined) return {};
  const { field, anyOf, noneOf, exists, ...tests } = one;
  const lists = { $in: anyOf?.values.map(valueOf), $nin: noneOf?.values.map(valueOf) };
  const values = Object.entries(tests).map(([name, value = {}]) => [`$${name}`, valueOf(value)]);
  return Object.fromEntries([
    [field, { ...lists, ...Object.fromEntries(values), $exists: exists }],
  ]);
}

/** JSON.parse of 0 is not -0. */
function valueOf({ text, number, boolean }: generated.FilterValue): unknown {
  return text ?? boolean ?? (number ?? Number.NaN) + 0;
}

function countRequest(asked: generated.Filter): Uint8Array {
  return generated.CountRequest.encode({ filter: asked, collection: '' }).finish();
}

describe('a filter that comes twice, or a part of one,', () => {
  const equals = (field: string): Buffer =>
    wire.delimited(4, wire.delimited(1, field), wire.delimited(2, wire.delimited(1, 'x')));
  const [a, b] = [equals('a'), equals('b')] as const;
  const list = wire.delimited(1, wire.delimited(1, a));
  const value = wire.delimited(2, wire.delimited(1, 'x'));
  const twice = (field: number, bytes: Buffer): Buffer =>
    Buffer.concat([wire.delimited(field, bytes), wire.delimited(field, bytes)]);

  it.each<[string, () => unknown]>([
    ['filter', () => readDelete(twice(5, a), RULES.limits)],
    ['filter', () => readCount(twice(2, a), RULES.limits)],
    ['filter', () => readScroll(twice(6, a), RULES.limits)],
    ['queries[0].filter', () => readSearch(wire.delimited(1, twice(9, a)), RULES)],
    ['field 4 of filter', () => ofDelete(Buffer.concat([a, b]))],
    ['field 1 of filter', () => ofDelete(Buffer.concat([list, list]))],
    ['field 3 of filter.$not', () => ofDelete(wire.delimited(3, twice(3, a)))],
    ['field 2 of filter.condition', () => ofDelete(wire.delimited(4, value, value))],
  ])('is refused: %s', (field, read) => {
    const message = `${field} is given twice, expected it once`;
    expect(read).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', message }));
  });

  it('is none where another field of the message has come between', () => {
    expect(ofDelete(Buffer.concat([a, list, b])).filter).toBe('{"b":{"$eq":"x"}}');
  });

  function ofDelete(asked: Buffer): ReturnType<typeof readDelete> {
    return readDelete(wire.delimited(5, asked), RULES.limits);
  }
});

describe('requests that generated code has written are read as they are', () => {
  it('of filters', { timeout: FUZZ_TIMEOUT_MS }, () => {
    check(
      fc.property(filter, (asked) => {
        const { filter: text = '' } = readCount(countRequest(asked), RULES.limits);
        expect(JSON.parse(text)).toEqual(objectOf(asked));
      }),
    );
  });

  it('of upserts', { timeout: FUZZ_TIMEOUT_MS }, () => {
    const point = fc.record({ id, vector, content, contentType, metadata });
    const points = fc.uniqueArray(point, { selector: (one) => one.id, maxLength: 5 });
    check(
      fc.property(points, fc.boolean(), (sent, ifAbsent) => {
        const request = { points: sent, ifAbsent, collection: 'default' };
        const read = readUpsert(generated.UpsertRequest.encode(request).finish(), RULES);
        expect(read.keeps).toBe(ifAbsent);
        expect(Uint8Array.from(read.ids)).toEqual(idBytes(sent.map((one) => one.id)));
        expect(read.vectors).toEqual(Float32Array.from(sent.flatMap((one) => one.vector)));
        expect(textsOf(read.contents, read.contentEnds)).toEqual(sent.map((one) => one.content));
        expect(textsOf(read.metadata, read.metadataEnds)).toEqual(sent.map((one) => one.metadata));
        const types = sent.map((one) => coreContentType(one.contentType));
        expect([...read.contentTypes]).toEqual(types);
      }),
    );
  });

  it('of updates', { timeout: FUZZ_TIMEOUT_MS }, () => {
    const absent = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
    const update = fc.record({
      id,
      content: absent(content),
      contentType: absent(contentType),
      metadata: absent(metadata),
    });
    const updates = fc.uniqueArray(update, { selector: (one) => one.id, maxLength: 5 });
    check(
      fc.property(updates, (points) => {
        const request = { points, collection: '' };
        const read = readUpdate(generated.UpdateRequest.encode(request).finish(), RULES);
        const given = points.map(
          (one) =>
            (one.contentType === undefined ? 0 : 1) +
            (one.content === undefined ? 0 : 2) +
            (one.metadata === undefined ? 0 : 4),
        );
        expect([...read.given]).toEqual(given);
        expect(textsOf(read.contents, read.contentEnds)).toEqual(
          points.map((one) => one.content ?? ''),
        );
        expect(textsOf(read.metadata, read.metadataEnds)).toEqual(
          points.map((one) => one.metadata ?? ''),
        );
      }),
    );
  });

  it('of searches, deletes, gets and scrolls', { timeout: FUZZ_TIMEOUT_MS }, () => {
    const count = fc.bigInt({ min: 1n, max: 2n ** 64n - 1n });
    const numbers = fc.record({ limit: count, ef: count, exact: fc.boolean() });
    check(
      fc.property(
        numbers,
        vector,
        fc.double({ min: 0, noNaN: true }),
        id,
        (asked, values, far, point) => {
          const include = {
            distance: false,
            vector: true,
            content: false,
            contentType: true,
            metadata: true,
          };
          const maxDistance = Number.isFinite(far) ? far : undefined;
          const queries = [
            { ...asked, vector: values, like: '', similarity: 4, maxDistance, include },
            {
              ...asked,
              vector: [],
              like: point,
              similarity: 1,
              maxDistance: undefined,
              include: undefined,
            },
          ];
          const request = { queries, collection: '' };
          const read = readSearch(generated.SearchRequest.encode(request).finish(), RULES);
          const clamped = (value: bigint): number =>
            Number(value > 0xffff_ffffn ? 0xffff_ffffn : value);
          expect([...read.similarities]).toEqual([3, 0]);
          expect([...read.limits]).toEqual([clamped(asked.limit), clamped(asked.limit)]);
          const ef = asked.exact ? 0xffff_ffff : clamped(asked.ef);
          expect([...read.efs]).toEqual([ef, ef]);
          expect([...read.maxDistances]).toEqual([maxDistance ?? Infinity, Infinity]);
          expect([...read.includes]).toEqual([1 + 2 + 8, 16]);
          expect(read.vectors).toEqual(Float32Array.from(values));
          expect(Uint8Array.from(read.likes)).toEqual(
            new Uint8Array([...new Uint8Array(POINT_ID_BYTES), ...idBytes([point])]),
          );

          const confirm = Number(asked.limit) > 2 ** 53 ? undefined : asked.limit;
          const all = { ids: [], all: true, confirm: confirm ?? 7n, collection: '' };
          expect(
            readDelete(generated.DeleteRequest.encode(all).finish(), RULES.limits).confirm,
          ).toBe(Number(confirm ?? 7n));
          const get = { ids: [point, point], include, collection: '' };
          const got = readGet(generated.GetRequest.encode(get).finish(), RULES.limits);
          expect(Uint8Array.from(got.ids)).toEqual(idBytes([point, point]));
          const page = {
            limit: asked.limit,
            after: 'x',
            order: 2,
            include: undefined,
            collection: '',
          };
          expect(readScroll(generated.ScrollRequest.encode(page).finish(), RULES.limits)).toEqual({
            limit: Number(asked.limit),
            after: 'x',
            newestFirst: true,
            filter: undefined,
            include: 2 + 4 + 8,
          });
        },
      ),
    );
  });

  it('and whatever else comes is read or refused', { timeout: FUZZ_TIMEOUT_MS }, () => {
    const readers = [
      (bytes: Uint8Array) => readUpsert(bytes, RULES),
      (bytes: Uint8Array) => readUpdate(bytes, RULES),
      (bytes: Uint8Array) => readSearch(bytes, RULES),
      (bytes: Uint8Array) => readGet(bytes, RULES.limits),
      (bytes: Uint8Array) => readDelete(bytes, RULES.limits),
      (bytes: Uint8Array) => readScroll(bytes, RULES.limits),
      (bytes: Uint8Array) => readCount(bytes, RULES.limits),
    ];
    const noise = fc.uint8Array({ maxLength: 60 });
    const filtered = mutated(filter.map((asked) => Buffer.from(countRequest(asked))));
    check(
      fc.property(fc.oneof(noise, filtered), (bytes) => {
        const others = readers.map((read) => {
          try {
            read(bytes);
            return undefined;
          } catch (error) {
            return error instanceof VectordError ? undefined : error;
          }
        });
        expect(others.filter((error) => error !== undefined)).toEqual([]);
      }),
    );
  });
});

describe('answers are read by generated code as they were', () => {
  const stored = fc.record({ id, vector, content, contentType, metadata });
  const EVERYTHING = 31;

  function recordsOf(points: readonly generated.NewPoint[]): Records {
    const joined = (texts: string[]): [Uint8Array, Uint32Array] => {
      let end = 0;
      const ends = Uint32Array.from(texts, (text) => (end += Buffer.byteLength(text)));
      return [new Uint8Array(Buffer.from(texts.join(''))), ends];
    };
    const [contents, contentEnds] = joined(points.map((one) => one.content));
    const [texts, metadataEnds] = joined(points.map((one) => one.metadata));
    return {
      ids: idBytes(points.map((one) => one.id)),
      vectors: Float32Array.from(points.flatMap((one) => one.vector)),
      contentTypes: Uint8Array.from(points, (one) => coreContentType(one.contentType)),
      contents,
      contentEnds,
      metadata: texts,
      metadataEnds,
    };
  }

  function expected(point: generated.NewPoint, distance?: number): generated.Point {
    return {
      ...point,
      vector: [...Float32Array.from(point.vector)],
      metadata: point.metadata === '' ? undefined : point.metadata,
      distance,
    };
  }

  it('whole, and in chunks of any size', { timeout: FUZZ_TIMEOUT_MS }, () => {
    check(
      fc.property(
        fc.array(stored),
        fc.array(id),
        fc.integer({ min: 1, max: 200 }),
        (points, missing, bytes) => {
          const records = recordsOf(points);
          const distances = Float64Array.from(points, (_, at) => at / 3);
          const found = { counts: Uint32Array.of(points.length, 0), distances, records };
          const answer = writeFound({ found, includes: Uint8Array.of(EVERYTHING, 0) });
          const whole = answer.finish();
          expect(whole).toHaveLength(answer.byteLength);
          expect(generated.SearchResponse.decode(whole)).toEqual({
            results: [{ points: points.map((one, at) => expected(one, at / 3)) }, { points: [] }],
          });
          const head = Uint8Array.of(1, 2, 3, 4, 5);
          const chunks = [...answer.chunks(head, (least) => Buffer.alloc(Math.max(least, bytes)))];
          expect(Buffer.concat(chunks.map((chunk) => new Uint8Array(chunk)))).toEqual(
            Buffer.concat([head, whole]),
          );

          const include = EVERYTHING - 16;
          const got = writeGot({ records, missing: idBytes(missing), include }).finish();
          const all = points.map((one) => expected(one));
          expect(generated.GetResponse.decode(got)).toEqual({ points: all, missing });
          const page = writePage({ records, next: 'n', include }).finish();
          expect(generated.ScrollResponse.decode(page)).toEqual({ points: all, next: 'n' });
        },
      ),
    );
  });
});
