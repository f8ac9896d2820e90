/**
 * A vector store for LangChain.js, over a client or an engine in process. It needs `@langchain/core`.
 *
 * @module vectord/langchain
 */
import type { DocumentInterface } from '@langchain/core/documents';
import type { EmbeddingsInterface } from '@langchain/core/embeddings';
// oxlint-disable-next-line eslint/no-restricted-imports -- the package exports it by this path
import { maximalMarginalRelevance } from '@langchain/core/utils/math';
import { VectorStore, type MaxMarginalRelevanceSearchOptions } from '@langchain/core/vectorstores';
import { v4 } from 'uuid';
import * as checks from '../client/checks.js';
import { InvalidArgumentError } from '../client/errors.js';
import type { Client } from '../client/interface.js';
import type { Filter, Point, Query, SearchPart } from '../client/model.js';
import { pointIdOf, toDocument, toPoint } from './documents.js';
import { filterOnPoints } from './filters.js';

/** How all searches of a store are done; what is left out is as in a search of the client. */
type SearchOptions = Partial<Pick<Query, 'similarity' | 'ef' | 'exact' | 'maxDistance'>>;

/** Where the documents of a store are, and how it searches: by Cosine unless told otherwise. */
export interface StoreOptions extends SearchOptions {
  /** Where the documents are. The store does not close it. */
  readonly client: Client;
}

/** What the documents are stored under. */
export interface AddOptions {
  /** One for each document, each once, instead of the documents' own. */
  readonly ids?: readonly string[];
}

/** What is deleted: either some documents or all points. One that is there but undefined is refused. */
export interface DeleteOptions {
  /** The ids of documents; one that is not there is no error. */
  readonly ids?: readonly string[];
  /** Deletes all points of the service. */
  readonly deleteAll?: boolean;
}

const STORE_OPTIONS: readonly string[] = [
  'client',
  'similarity',
  'ef',
  'exact',
  'maxDistance',
] satisfies readonly (keyof StoreOptions)[];

const ADD_OPTIONS: readonly string[] = ['ids'] satisfies readonly (keyof AddOptions)[];

const DELETE_OPTIONS: readonly string[] = [
  'ids',
  'deleteAll',
] satisfies readonly (keyof DeleteOptions)[];

const DOCUMENT: readonly SearchPart[] = ['distance', 'content', 'metadata'];

/**
 * Documents in a vectord service. The service has one collection: every point in it is a document of
 * this store, those of other clients, too, under the ids of their points. A document may have any id,
 * and any metadata that JSON has, up to 64 KiB as the point keeps it. What another client has stored
 * under the names of this store in metadata (`_vectord_id`, `_vectord_metadata`) and is not of the
 * form that the store writes is ignored.
 *
 * A score is a distance: the smallest is the best. A filter of a search is that of the client, and
 * asks for metadata as documents have it; in it `$id` is the id of the document. What the point keeps
 * as JSON text is not there to a filter. One on the names of this store fails with an
 * InvalidArgumentError.
 */
export class VectordVectorStore extends VectorStore {
  /** Filters of this store are those of the client. */
  declare FilterType: Filter;

  readonly #client: Client;
  readonly #options: SearchOptions & Pick<Query, 'similarity'>;

  /**
   * `embeddings` makes vectors of texts, as many values each as the service has dimensions. Throws an
   * InvalidArgumentError for an option that is not known, such as the name of a collection: there is
   * one alone.
   */
  constructor(embeddings: EmbeddingsInterface, given: StoreOptions) {
    const { client, similarity = 'Cosine', ...rest } = checkedOptions(given);
    const options = { ...rest, similarity };
    super(embeddings, options);
    this.#client = client;
    this.#options = options;
  }

  /** A store that has these texts, too. `metadatas` has one member for each, or is one for all. */
  static override async fromTexts(
    texts: string[],
    metadatas: object[] | object,
    embeddings: EmbeddingsInterface,
    options: StoreOptions,
  ): Promise<VectordVectorStore> {
    const metadataAt = (at: number): object =>
      (Array.isArray(metadatas) ? (metadatas[at] as object | undefined) : metadatas) ?? {};
    const documents = texts.map((text, at) => ({ pageContent: text, metadata: metadataAt(at) }));
    return VectordVectorStore.fromDocuments(documents, embeddings, options);
  }

  /** A store that has these documents, too. */
  static override async fromDocuments(
    documents: DocumentInterface[],
    embeddings: EmbeddingsInterface,
    options: StoreOptions,
  ): Promise<VectordVectorStore> {
    const store = new VectordVectorStore(embeddings, options);
    await store.addDocuments(documents);
    return store;
  }

  override _vectorstoreType(): string {
    return 'vectord';
  }

  /** As `addVectors`, with the vectors that the embeddings make of the contents. */
  override async addDocuments(
    documents: DocumentInterface[],
    options?: AddOptions,
  ): Promise<string[]> {
    const contents = documents.map(({ pageContent }) => pageContent);
    return this.addVectors(await this.embeddings.embedDocuments(contents), documents, options);
  }

  /**
   * Stores documents, in batches; one whose id exists is replaced whole. Gives all ids in order; of
   * a document that has none a new one. If it fails, some documents may be stored.
   */
  override async addVectors(
    vectors: number[][],
    documents: DocumentInterface[],
    options: AddOptions = {},
  ): Promise<string[]> {
    const { ids } = checks.members('options', options, ADD_OPTIONS);
    checkLength('vectors', vectors, documents);
    if (ids !== undefined) checkLength('ids', ids, documents);
    const identified = documents.map((document, at) => ({
      ...document,
      id: ids === undefined ? (document.id ?? v4()) : checks.text(`ids[${at}]`, ids[at]),
    }));
    await this.#client.bulk(
      identified.map((document, at) =>
        toPoint(document, checks.array(`vectors[${at}]`, vectors[at])),
      ),
    );
    return identified.map(({ id }) => id);
  }

  /** Deletes the documents with these ids, or all documents. An unknown id is no error. */
  override async delete(given: DeleteOptions = {}): Promise<void> {
    const options = checks.members('options', given, DELETE_OPTIONS);
    const all = 'deleteAll' in options && checks.boolean('deleteAll', options.deleteAll);
    if (all === 'ids' in options) {
      throw new InvalidArgumentError('delete takes either ids or deleteAll: true');
    }
    if (all) await this.#client.deleteAll(await this.#client.count());
    else await this.#client.delete(pointIdsOf(options.ids));
  }

  /** The documents with these ids that are there, in the order of the ids. */
  async getByIds(ids: readonly string[]): Promise<DocumentInterface[]> {
    const { points } = await this.#client.get(pointIdsOf(ids));
    return points.map(toDocument);
  }

  /** The `k` documents nearest to a vector with their distances, closest first. */
  override async similaritySearchVectorWithScore(
    query: number[],
    k: number,
    filter?: this['FilterType'],
  ): Promise<[DocumentInterface, number][]> {
    const found = await this.#near(query, k, filter, DOCUMENT);
    return found.map((point) => [toDocument(point), point.distance ?? Number.NaN]);
  }

  /**
   * The `k` documents of the `fetchK` (20) nearest to a text that are near it and far from each
   * other; `lambda` (0.5) is 1 for the nearest and 0 for the farthest from each other.
   */
  override async maxMarginalRelevanceSearch(
    query: string,
    { k, fetchK = 20, lambda, filter }: MaxMarginalRelevanceSearchOptions<this['FilterType']>,
  ): Promise<DocumentInterface[]> {
    const vector = await this.embeddings.embedQuery(query);
    const found = await this.#near(vector, fetchK, filter, ['vector', 'content', 'metadata']);
    const vectors = found.map((point) => [...(point.vector ?? [])]);
    const chosen = maximalMarginalRelevance(vector, vectors, lambda, k);
    return chosen.flatMap((at) => found[at] ?? []).map(toDocument);
  }

  async #near(
    vector: number[],
    limit: number,
    given: Filter | undefined,
    include: readonly SearchPart[],
  ): Promise<readonly Point[]> {
    const filter = given === undefined ? undefined : filterOnPoints(given);
    return this.#client.search({ ...this.#options, vector, limit, filter, include });
  }
}

function checkedOptions(given: StoreOptions): StoreOptions {
  const options = checks.members('options', given, STORE_OPTIONS);
  const client: Partial<Client> | undefined = options.client;
  if (typeof client?.searchAll === 'function') return options;
  throw checks.wrong('options.client', client, 'a client: what connect or open has answered');
}

function pointIdsOf(ids: readonly string[] | undefined): string[] {
  return Array.from(checks.array('ids', ids), (id, at) => pointIdOf(checks.text(`ids[${at}]`, id)));
}

function checkLength(name: string, list: readonly unknown[], { length }: readonly unknown[]): void {
  if (list.length === length) return;
  throw new InvalidArgumentError(
    `${name} has ${list.length} items, expected one for each of ${length} documents`,
  );
}
