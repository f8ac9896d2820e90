import { Document, type DocumentInterface } from '@langchain/core/documents';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  idFor,
  InvalidArgumentError,
  type Client,
  type Filter,
  type Metadata,
  type MetadataValue,
} from '../../src/client/node.js';
import {
  VectordVectorStore,
  type DeleteOptions,
  type StoreOptions,
} from '../../src/langchain/store.js';
import { open, PROTOCOLS } from '../client/open.js';
import { startServer } from '../support/server.js';
import { Numbers } from './numbers.js';

const UPPER = 'ABCDEFAB-0000-4000-8000-00000000000A';
const NIL = '00000000-0000-0000-0000-000000000000';

/** What the service takes as it is. */
const PLAIN = {
  text: 'é',
  number: 1,
  fraction: -0.5,
  least: -0,
  large: 2 ** 60,
  'large list': [1, 2 ** 60],
  huge: 1e300,
  flag: true,
  none: null,
  list: ['a', 'b'],
  empty: [],
};

const METADATA = {
  ...PLAIN,
  nested: { a: [1, { b: null }] },
  mixed: [1, 'a', true],
  nulls: [null],
  'broken \ud800': 'text',
  half: '\ud800',
  $dollar: 1,
  _vectord_id: 'not one',
  _vectord_metadata: 'not it',
  ['__proto__']: { a: 1 },
};

let client: Client;

function make(options: Partial<StoreOptions> = {}): VectordVectorStore {
  return new VectordVectorStore(new Numbers(), { client, ...options });
}

function documentOf(pageContent: string, id?: string, metadata: object = {}): Document {
  return new Document({ pageContent, metadata, ...(id === undefined ? {} : { id }) });
}

async function add(store: VectordVectorStore, texts: Record<string, string>): Promise<string[]> {
  return store.addDocuments(Object.entries(texts).map(([id, text]) => documentOf(text, id)));
}

function idsOf(documents: readonly DocumentInterface[]): (string | undefined)[] {
  return documents.map(({ id }) => id);
}

describe.each(PROTOCOLS)('over %s', (protocol) => {
  beforeAll(async () => {
    client = open(await startServer(), protocol);
  });

  beforeEach(async () => {
    await client.deleteAll(await client.count());
  });

  test('documents come back as they were', async () => {
    const ids = ['1', 'é\n', '\u{1f600}', UPPER, UPPER.toLowerCase().replace('a', 'b'), NIL];
    const documents = ids.map((id) => documentOf('1', id, METADATA));
    expect(await make().addDocuments(documents)).toEqual(ids);
    expect(await make().getByIds(ids)).toEqual(documents);
  });

  test('metadata that the service takes is kept as it is', async () => {
    await make().addDocuments([documentOf('1', 'one', METADATA)]);
    const [point] = (await client.get([idFor('one')])).points;
    expect(point?.metadata).toEqual({
      ...PLAIN,
      _vectord_id: 'one',
      _vectord_metadata: expect.stringMatching(/^\{"nested":\{"a":\[1,\{"b":null\}\]\},/),
    });
  });

  test('plain documents get random ids and have no reserved metadata', async () => {
    const ids = await make().addDocuments([documentOf('1'), documentOf('2')]);
    const { points, missing } = await client.get(ids);
    expect(missing).toEqual([]);
    expect(points.map(({ metadata }) => metadata)).toEqual([null, null]);
  });

  test('a time comes back as a text, and undefined members do not', async () => {
    const metadata = { at: new Date(0), gone: undefined, nested: { at: new Date(0) } };
    await make().addDocuments([documentOf('1', '1', metadata)]);
    const [document] = await make().getByIds(['1']);
    const at = '1970-01-01T00:00:00.000Z';
    expect(document?.metadata).toEqual({ at, nested: { at } });
    expect(document?.metadata).not.toHaveProperty('gone');
  });

  test.each([
    ['metadata.a is NaN', { a: Number.NaN }],
    ['metadata.a[1] is Infinity', { a: [0, Infinity] }],
    ['metadata.a.b is a Map', { a: { b: new Map() } }],
    ['metadata.a is 1', { a: 1n }],
    ['metadata.a[0] is undefined', { a: [undefined] }],
    ['metadata.a is a Date', { a: new Date(Number.NaN) }],
  ])('what JSON does not have is refused: %s', async (message, metadata) => {
    const adding = make().addDocuments([documentOf('1', '1', metadata)]);
    await expect(adding).rejects.toThrow(`${message}, expected a value that JSON has`);
    expect(await client.count()).toBe(0);
  });

  const cyclic: Record<string, unknown> = { a: [{}] };
  cyclic['a'] = [{ b: cyclic }];
  const deep = JSON.parse(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`) as object;

  test.each([
    ['metadata is "text", expected a plain object', 'text'],
    ['metadata is an Array, expected a plain object', [['a', 1]]],
    ['metadata is a Date, expected a plain object', new Date(0)],
    ['metadata is nested too deeply, or is a part of itself', cyclic],
    ['metadata is nested too deeply', deep],
  ])('metadata that is no object, or without an end, is refused: %s', async (message, metadata) => {
    const document = { id: '1', pageContent: '1', metadata } as unknown as DocumentInterface;
    const adding = make().addDocuments([document]);
    await expect(adding).rejects.toThrow(InvalidArgumentError);
    await expect(adding).rejects.toThrow(message);
    expect(await client.count()).toBe(0);
  });

  test('metadata may have one value in several places', async () => {
    const value = { a: [1] };
    const metadata = { first: value, second: [value, value] };
    await make().addDocuments([documentOf('1', '1', metadata)]);
    expect(await make().getByIds(['1'])).toEqual([documentOf('1', '1', metadata)]);
  });

  test('ids may be given beside the documents, and a document of the same id is replaced', async () => {
    const store = make();
    expect(await store.addDocuments([documentOf('1', 'own')], { ids: ['given'] })).toEqual([
      'given',
    ]);
    await store.addDocuments([documentOf('0 1')], { ids: ['given'] });
    expect(await store.similaritySearch('1')).toEqual([documentOf('0 1', 'given')]);
  });

  test('each document has a vector and an id', async () => {
    const documents = [documentOf('1'), documentOf('2')];
    const one = [1, 0, 0, 0];
    await expect(make().addVectors([one], documents)).rejects.toThrow(
      'vectors has 1 items, expected one for each of 2 documents',
    );
    await expect(make().addDocuments(documents, { ids: ['a'] })).rejects.toThrow(
      'ids has 1 items, expected one for each of 2 documents',
    );
  });

  test('searches give the nearest with their distances', async () => {
    const store = make({ similarity: 'Manhattan' });
    await add(store, { a: '1', b: '3', c: '9' });
    const found = await store.similaritySearchWithScore('2.5', 2);
    expect(found).toEqual([
      [documentOf('3', 'b'), 0.5],
      [documentOf('1', 'a'), 1.5],
    ]);
    expect(idsOf(await store.similaritySearch('8', 1))).toEqual(['c']);
  });

  test('searches are done as the store is told', async () => {
    const store = make({ similarity: 'Euclidean', exact: true, maxDistance: 1 });
    await add(store, { a: '1', b: '3' });
    expect(idsOf(await store.similaritySearch('1.5'))).toEqual(['a']);
    await expect(make({ ef: -1 }).similaritySearch('1')).rejects.toThrow(InvalidArgumentError);
  });

  test('an option that is undefined is as one that is left out', async () => {
    const store = make({ similarity: undefined, ef: undefined } as unknown as StoreOptions);
    await add(store, { a: '1 0', b: '0 1' });
    expect((await store.similaritySearchWithScore('3 0')).map(([, score]) => score)).toEqual([
      0, 1,
    ]);
  });

  test.each([
    [
      { collectionName: 'a' },
      'options.collectionName is unknown, expected only client, similarity',
    ],
    [{ client: undefined }, 'options.client is undefined, expected a client: what connect or open'],
    [{ client: 'http://127.0.0.1:3000' }, 'options.client is "http://127.0.0.1:3000", expected a'],
  ])('a store cannot be made with %s', (options, message) => {
    const made = (): unknown => make(options as Partial<StoreOptions>);
    expect(made).toThrow(InvalidArgumentError);
    expect(made).toThrow(message);
  });

  test('results may be far from each other', async () => {
    const store = make();
    await add(store, { a: '1 0', b: '1 0.01', c: '1 0.5', d: '0.2 1' });
    const search = async (options: { k: number; fetchK?: number; lambda?: number }) =>
      idsOf(await store.maxMarginalRelevanceSearch('1 0', options));
    expect(await search({ k: 2, lambda: 1 })).toEqual(['a', 'b']);
    expect(await search({ k: 2, lambda: 0.1 })).toEqual(['a', 'd']);
    expect((await search({ k: 2, fetchK: 2, lambda: 0 })).toSorted()).toEqual(['a', 'b']);
  });

  test('searches find what passes a filter', async () => {
    const store = make({ similarity: 'Euclidean' });
    await store.addDocuments([
      documentOf('1', 'a', { year: 2019 }),
      documentOf('2', 'b', { year: 2020, tags: ['pet'] }),
      documentOf('3', 'c', { year: 2021, at: new Date(0) }),
      documentOf('4', UPPER),
    ]);
    const filter: Filter = { year: { $gte: 2020 } };
    const scored = await store.similaritySearchVectorWithScore([1, 0, 0, 0], 4, filter);
    const retriever = store.asRetriever({ k: 4, filter });
    const mmr = store.asRetriever({ searchType: 'mmr', k: 4, filter });
    const found = [
      scored.map(([document]) => document),
      await store.similaritySearch('1', 4, filter),
      await retriever.invoke('1'),
      (await mmr.invoke('1')).toSorted((x, y) => (x.pageContent < y.pageContent ? -1 : 1)),
    ];
    for (const documents of found) expect(idsOf(documents)).toEqual(['b', 'c']);

    const search = async (of: Filter): Promise<unknown> =>
      idsOf(await store.similaritySearch('1', 4, of));
    const or = [{ tags: 'pet' }, { year: { $exists: false } }];
    expect(await search({ $or: or })).toEqual(['b', UPPER]);
    expect(await search({ at: { $lt: new Date(1).toISOString() } })).toEqual(['c']);
    expect(await search({ $id: 'a' })).toEqual(['a']);
    expect(await search({ $id: UPPER.toLowerCase() })).toEqual([UPPER]);
    expect(await search({ $id: { $in: [UPPER, 'c', 'unknown'] } })).toEqual(['c', UPPER]);
    expect(await search({ $not: { $and: [{ $id: { $nin: ['b'] } }] } })).toEqual(['b']);
    expect(await search({})).toEqual(['a', 'b', 'c', UPPER]);
  });

  test('what is kept as text is not there to a filter', async () => {
    const store = make();
    await store.addDocuments([documentOf('1', '1', METADATA)]);
    const there: string[] = [];
    for (const key of ['text', 'number', 'empty', 'nested', 'mixed', 'half']) {
      const found = await store.similaritySearch('1', 1, { [key]: { $exists: true } });
      if (found.length > 0) there.push(key);
    }
    expect(there).toEqual(['text', 'number', 'empty']);
    expect(await store.similaritySearch('1', 1, { nested: { $ne: 1 } })).toHaveLength(1);
  });

  test.each<[unknown, string]>([
    ['a', 'filter is "a", expected a filter'],
    [null, 'filter is null, expected a filter'],
    [() => true, 'filter is a function, expected a filter'],
    [{ a: undefined }, 'filter.a is undefined, expected a string'],
    [{ $or: [{ a: { $eq: undefined } }] }, 'filter.$or[0].a.$eq is undefined, expected a string'],
    [{ a: new Date(0) }, 'filter.a is a Date, expected a string'],
    [{ a: { $in: [1, null] } }, 'filter.a.$in[1] is null'],
    [{ $dollar: 1 }, 'filter.$dollar is "$dollar", expected one of'],
    [{ _vectord_id: '1' }, 'filter._vectord_id is a name that the store keeps to itself'],
    [
      { $or: [{}, { $not: { _vectord_metadata: { $exists: true } } }] },
      'filter.$or[1].$not._vectord_metadata is a name that the store keeps to itself',
    ],
  ])('the filter %j finds nothing and is refused', async (given, message) => {
    const filter = given as Filter;
    for (const search of [
      async () => make().similaritySearch('1', 1, filter),
      async () => make().maxMarginalRelevanceSearch('1', { k: 1, filter }),
    ]) {
      const error: unknown = await search().catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect((error as Error).message).toContain(message);
    }
  });

  test('deletes take ids, or all', async () => {
    const store = make();
    await add(store, { a: '1', b: '2', c: '3' });
    await store.delete({ ids: ['a', 'unknown'] });
    expect(await client.count()).toBe(2);
    await store.delete({ ids: [] });
    await expect(store.delete()).rejects.toThrow('delete takes either ids or deleteAll: true');
    await expect(store.delete({ ids: ['b'], deleteAll: true })).rejects.toThrow('either');
    for (const [given, message] of [
      [{ ids: undefined }, 'ids is undefined, expected an array'],
      [{ ids: ['b', undefined] }, 'ids[1] is undefined, expected a string'],
      [{ ids: undefined, deleteAll: true }, 'delete takes either ids or deleteAll: true'],
      [{ deleteAll: undefined }, 'deleteAll is undefined, expected true or false'],
      [{ id: ['b'], deleteAll: true }, 'options.id is unknown, expected only ids, deleteAll'],
    ] as const) {
      await expect(store.delete(given as DeleteOptions)).rejects.toThrow(message);
    }
    const document = documentOf('1', 'd');
    const addVectors = async (vectors: unknown, ids: unknown) =>
      store.addVectors(vectors as number[][], [document], { ids: ids as string[] });
    await expect(addVectors([[1, 2, 3, 4]], [undefined])).rejects.toThrow(
      'ids[0] is undefined, expected',
    );
    await expect(addVectors([undefined], ['d'])).rejects.toThrow(
      'vectors[0] is undefined, expected an',
    );
    await expect(store.getByIds([undefined as never])).rejects.toThrow('ids[0] is undefined');
    expect(await client.count()).toBe(2);
    await store.delete({ deleteAll: true });
    expect(await client.count()).toBe(0);
  });

  test('stores are made from texts and documents, and become retrievers', async () => {
    const options = { client };
    await VectordVectorStore.fromTexts(['1', '2'], { a: 1 }, new Numbers(), options);
    await VectordVectorStore.fromTexts(['0 1'], [{ a: 2 }], new Numbers(), options);
    const documents = [documentOf('0 0 1', 'z')];
    const store = await VectordVectorStore.fromDocuments(documents, new Numbers(), options);
    const found = await store.asRetriever({ k: 1 }).invoke('0 2');
    expect(found.map(({ metadata }) => metadata)).toEqual([{ a: 2 }]);
    const mmr = store.asRetriever({ k: 1, searchType: 'mmr' });
    expect(idsOf(await mmr.invoke('0 0 3'))).toEqual(['z']);
    expect(await client.count()).toBe(4);
  });

  test('points of other clients are documents', async () => {
    const vector = [1, 0, 0, 0];
    const { ids } = await client.upsert([{ vector, content: 'by hand', metadata: { a: 1 } }]);
    expect(await make().similaritySearch('1')).toEqual([documentOf('by hand', ids[0], { a: 1 })]);
  });

  test('what others keep under reserved names is ignored where the store does not write so', async () => {
    const foreign: Metadata[] = ['hello', '[1,2]', '5', 'null', '"x"', 5, null, true, ['{}']].map(
      (rest) => ({ a: 1, _vectord_metadata: rest as MetadataValue }),
    );
    const strangers = [null, 5, false, ['x']].map((of) => ({ a: 1, _vectord_id: of }) as Metadata);
    const metadata = [...foreign, ...strangers];
    const { ids } = await client.upsert(
      metadata.map((of) => ({ vector: [1, 0, 0, 0], metadata: of })),
    );
    const expected = ids.map((of) => documentOf('', of, { a: 1 }));
    expect(await make().getByIds(ids)).toEqual(expected);
    const found = await make().similaritySearch('1', metadata.length);
    expect(new Set(idsOf(found))).toEqual(new Set(ids));
  });

  test('metadata beyond 64 KiB is refused', async () => {
    const adding = make().addDocuments([
      documentOf('1', '1', { nested: { a: 'x'.repeat(65_536) } }),
    ]);
    await expect(adding).rejects.toThrow(InvalidArgumentError);
  });
});
