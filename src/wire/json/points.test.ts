import { describe, expect, it } from 'vitest';
import { readConfig } from '../../config/config.js';
import { VectordError } from '../../core/errors.js';
import type { Rules } from '../../core/rules.js';
import { includeOf } from '../../core/include.js';
import { readDelete, readGet, readCount, readScroll, readSearch } from './points.js';
import { readUpdate, readUpsert } from './points.js';

const limits = { ...readConfig({}), maxBatch: 2 };
const RULES: Rules = { dimension: 2, limits, defaultEf: 77 };
const ID = '00112233-4455-6677-8899-aabbccddeeff';
const ID_BYTES = Uint8Array.from({ length: 16 }, (_, at) => at * 0x11);

const bytes = (body: unknown): Buffer => Buffer.from(JSON.stringify(body));

/** The message with which a body is refused. */
function refusal(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof VectordError) return `${error.code}: ${error.message}`;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('bodies of /v1', () => {
  it('upserts are read with what their points have', () => {
    const points = [
      { id: ID, vector: [1, 2], content: 'é', content_type: 'Image', metadata: { a: 1 } },
      { vector: 'AACAPwAAAEA=' },
    ];
    const { ids, ...read } = readUpsert(bytes({ points, if_absent: true }), RULES);
    expect(ids.slice(0, 16)).toEqual(ID_BYTES);
    expect(ids.slice(16).some((byte) => byte !== 0)).toBe(true);
    expect(read).toEqual({
      areIdsDrawn: false,
      vectors: Float32Array.of(1, 2, 1, 2),
      contentTypes: Uint8Array.of(0, 1),
      contents: new Uint8Array(Buffer.from('é')),
      contentEnds: Uint32Array.of(2, 2),
      metadata: new Uint8Array(Buffer.from('{"a":1}')),
      metadataEnds: Uint32Array.of(7, 7),
      keeps: true,
    });
  });

  it('searches are read, without a breadth where none is named, and with that of an exact one', () => {
    const query = { similarity: 'Cosine', limit: 3 };
    const queries = [
      { ...query, vector: [1, 2], filter: { a: 'é' } },
      { ...query, like: ID, exact: true, max_distance: 0.5, include: ['vector', 'distance'] },
    ];
    expect(readSearch(bytes({ queries, vector_format: 'base64' }), RULES)).toEqual({
      vectors: Float32Array.of(1, 2),
      similarities: Uint8Array.of(3, 3),
      limits: Uint32Array.of(3, 3),
      efs: Uint32Array.of(0, 2 ** 32 - 1),
      maxDistances: Float64Array.of(Infinity, 0.5),
      likes: Uint8Array.of(...new Uint8Array(16), ...ID_BYTES),
      filters: { texts: new Uint8Array(Buffer.from('{"a":"é"}')), ends: Uint32Array.of(10, 10) },
      includes: Uint8Array.of(16, 17),
      isList: true,
      base64: true,
    });
  });

  it('updates, gets, deletes and pages are read', () => {
    const points = [{ id: ID, metadata: null }];
    expect(readUpdate(bytes({ points }), RULES)).toMatchObject({
      ids: ID_BYTES,
      given: Uint8Array.of(4),
    });
    const get = { ids: [ID], include: ['vector'] };
    expect(readGet(bytes(get), limits)).toEqual({ ids: ID_BYTES, include: 1, base64: false });
    expect(readDelete(bytes({ ids: [ID] }), limits)).toEqual({ ids: ID_BYTES });
    const all = { all: true, confirm: 5 };
    expect(readDelete(bytes(all), limits)).toEqual({ ids: new Uint8Array(), confirm: 5 });
    const filter = '{"a":1}';
    const matching = { filter: JSON.parse(filter) as unknown };
    expect(readDelete(bytes(matching), limits)).toEqual({ ids: new Uint8Array(), filter });
    expect(readCount(bytes(matching), limits)).toEqual({ filter });
    const page = { limit: 5, after: 'x', order: 'newest', ...matching };
    expect(readScroll(bytes(page), limits)).toEqual({
      limit: 5,
      after: 'x',
      newestFirst: true,
      filter,
      include: 14,
      base64: false,
    });
    expect(includeOf(14)).toEqual({
      vector: false,
      contentType: true,
      content: true,
      metadata: true,
    });
    for (const body of [Buffer.alloc(0), bytes({}), bytes({ collection: 'default' })]) {
      expect(readCount(body, limits)).toEqual({});
    }
  });

  it('what is wrong is named', () => {
    const point = { vector: [1, 2] };
    const search = { vector: [1, 2], similarity: 'Cosine', limit: 1 };
    for (const [read, body, message] of [
      [readUpsert, { points: [point, point, point] }, 'TOO_LARGE: points has 3 items, at most 2'],
      [
        readUpsert,
        { points: [point, { ...point, colour: 'red' }] },
        'INVALID_ARGUMENT: points[1].colour is unknown, expected only id, vector, content, ' +
          'content_type and metadata',
      ],
      [
        readUpsert,
        { points: [{ vector: [1] }] },
        'INVALID_ARGUMENT: points[0]: vector has 1 dimensions, this service stores 2; a service ' +
          'with an empty folder stores such vectors if it is started with DIMENSION=1',
      ],
      [
        readUpsert,
        {
          points: [
            { ...point, id: ID },
            { ...point, id: ID.toUpperCase() },
          ],
        },
        'INVALID_ARGUMENT: points[1]: id is that of points[0], expected each id once',
      ],
      [
        readUpsert,
        { points: [{ ...point, metadata: { a: { b: 1 } } }] },
        'INVALID_ARGUMENT: points[0].metadata.a is an object, expected a string, a boolean, a finite',
      ],
      [
        readUpsert,
        { points: [{ vector: [1, 2], payload: {} }] },
        'INVALID_ARGUMENT: points[0].payload is unknown, expected only id, vector, content, ' +
          'content_type and metadata; a point carries `content` and `metadata`',
      ],
      [
        readUpsert,
        { points: [], collection: 'books' },
        'INVALID_ARGUMENT: collection is "books", expected "default", or no collection: there is ' +
          'one, in which a key of metadata tells points apart',
      ],
      [
        readUpsert,
        { points: [{ vector: [1, 2], id: 'doc-42' }] },
        'INVALID_ARGUMENT: points[0].id is "doc-42", expected a UUID (8-4-4-4-12 hexadecimal ' +
          'digits) that is not nil; idFor and id_for of the clients make one of any text, of ' +
          'version 5 in the namespace 1f798449-f176-40ab-9cbe-569099033734',
      ],
      [
        readUpsert,
        { points: [{ vector: [1, 2], metadata: { $set: 1 } }] },
        'INVALID_ARGUMENT: points[0].metadata.$set is a key, expected one that does not begin ' +
          'with "$"',
      ],
      [
        readUpsert,
        { points: [{ vector: [1, 2], metadata: { a: 'x'.repeat(70_000) } }] },
        'INVALID_ARGUMENT: the length of points[0].metadata is ',
      ],
      [
        readSearch,
        { ...search, offset: 10 },
        'INVALID_ARGUMENT: offset is unknown, expected only vector, like, similarity, limit, ef, ' +
          'exact, max_distance, filter and include, or queries; vector_format and collection; a ' +
          'search has no pages: more points come by a greater `limit`',
      ],
      [
        readSearch,
        { ...search, similarity: 'Dot' },
        'INVALID_ARGUMENT: similarity is "Dot", expected "Euclidean" or "Manhattan" or "Hamming" ' +
          'or "Cosine"; of vectors of length 1, Cosine is 1 minus the inner product',
      ],
      [
        readSearch,
        { ...search, fliter: {} },
        'INVALID_ARGUMENT: fliter is unknown, expected only vector, like, similarity',
      ],
      [
        readSearch,
        { queries: [search, { ...search, filter: { a: { $gt: true } } }] },
        'INVALID_ARGUMENT: queries[1].filter.a.$gt is true, expected a string or a finite number',
      ],
      [readSearch, { ...search, limit: 0 }, 'INVALID_ARGUMENT: limit is 0, expected at least 1'],
      [
        readSearch,
        { queries: [search, { ...search, vector: [1] }] },
        'INVALID_ARGUMENT: queries[1]: vector has 1 dimensions, this service stores 2; a service ' +
          'with an empty folder stores such vectors if it is started with DIMENSION=1',
      ],
    ] as const) {
      expect(refusal(() => read(bytes(body), RULES))).toContain(message);
    }
    const twice = Buffer.from('{"ids":[],"ids":[]}');
    expect(refusal(() => readGet(twice, limits))).toBe(
      'INVALID_ARGUMENT: ids is given twice, expected it once',
    );
  });
});
