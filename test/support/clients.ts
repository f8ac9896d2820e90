import { createChannel, createClient, Metadata, type Channel, type Client } from 'nice-grpc';
import type { Client as PointsClient } from '../../src/client/interface.js';
import type { Metadata as PointMetadata } from '../../src/client/model.js';
import { connect } from '../../src/client/node.js';
import {
  ContentType,
  Similarity,
  VectorDBDefinition,
  type InsertVectorRequest,
  type SearchRequest,
} from '../../src/gen/vectordb/vectordb.js';
import type { TestServer } from './server.js';

/** A point as a client sends it. Values are exact in single precision, so they come back as sent. */
export interface TestPoint {
  readonly vector: readonly number[];
  readonly contentType: 'Text' | 'Image';
  readonly content: string;
  /** What only vectord.v1 knows of; nothing for a point that has none. */
  readonly metadata?: PointMetadata | null;
}

export const SIMILARITIES = ['Euclidean', 'Manhattan', 'Hamming', 'Cosine'] as const;
export type SimilarityName = (typeof SIMILARITIES)[number];

export interface TestQuery {
  readonly vector: readonly number[];
  readonly similarity: SimilarityName;
  readonly limit: number;
  readonly ef?: number;
}

/** A client of one of the two interfaces. Whatever is not a success is thrown. */
export interface VectorClient {
  /** The points of vectord.v1, over the same protocol; no call is repeated. */
  readonly v1: PointsClient;
  insert(point: TestPoint): Promise<string>;
  insertBatch(points: readonly TestPoint[]): Promise<string[]>;
  get(id: string): Promise<TestPoint & { readonly id: string }>;
  delete(id: string): Promise<void>;
  search(query: TestQuery): Promise<string[]>;
  searchBatch(queries: readonly TestQuery[]): Promise<string[][]>;
  close(): void;
}

/** What it takes to speak to a service. */
type Addresses = Pick<TestServer, 'http' | 'grpc' | 'keys'>;

/** A client of each interface, with the readwrite key. */
export function openClients(server: Addresses): readonly [VectorClient, VectorClient] {
  return [new HttpClient(server), new GrpcClient(server)];
}

class HttpClient implements VectorClient {
  readonly v1: PointsClient;
  readonly #address: string;
  readonly #key: string;

  constructor({ http, keys }: Addresses) {
    this.v1 = connectOnce(http, keys.readwrite);
    this.#address = http;
    this.#key = keys.readwrite;
  }

  async insert(point: TestPoint): Promise<string> {
    const { point_id } = await this.#send('POST', '/points', insertJson(point));
    return point_id as string;
  }

  async insertBatch(points: readonly TestPoint[]): Promise<string[]> {
    const body = `{"vectors":[${points.map(insertJson).join(',')}]}`;
    return (await this.#send('POST', '/points/batch', body))['point_ids'] as string[];
  }

  async get(id: string): Promise<TestPoint & { id: string }> {
    const found = await this.#send('GET', `/points/${id}`);
    const payload = found['payload'] as { content_type: 'Text' | 'Image'; content: string };
    const { content_type: contentType, content } = payload;
    // The shortest text that reads back as the same f32 is not always that of the same double.
    const vector = (found['vector'] as number[]).map(Math.fround);
    return { id: found['id'] as string, vector, contentType, content };
  }

  async delete(id: string): Promise<void> {
    await this.#send('DELETE', `/points/${id}`);
  }

  async search(query: TestQuery): Promise<string[]> {
    return (await this.#send('POST', '/points/search', queryJson(query)))['results'] as string[];
  }

  async searchBatch(queries: readonly TestQuery[]): Promise<string[][]> {
    const body = `{"queries":[${queries.map(queryJson).join(',')}]}`;
    return (await this.#send('POST', '/points/search/batch', body))['results'] as string[][];
  }

  // Node's fetch keeps its connections by itself.
  close(): void {
    this.v1.close();
  }

  async #send(method: string, path: string, body?: string): Promise<Record<string, unknown>> {
    const response = await fetch(this.#address + path, {
      method,
      headers: { 'api-key': this.#key, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  }
}

class GrpcClient implements VectorClient {
  readonly v1: PointsClient;
  readonly #channel: Channel;
  readonly #client: Client<typeof VectorDBDefinition>;

  constructor({ grpc, keys }: Addresses) {
    this.v1 = connectOnce(`grpc://${grpc}`, keys.readwrite);
    this.#channel = createChannel(grpc);
    const metadata = Metadata({ authorization: keys.readwrite });
    this.#client = createClient(VectorDBDefinition, this.#channel, { '*': { metadata } });
  }

  async insert(point: TestPoint): Promise<string> {
    return idText(await this.#client.insertVector(insertRequest(point)));
  }

  async insertBatch(points: readonly TestPoint[]): Promise<string[]> {
    const { ids } = await this.#client.insertVectorsBatch({ vectors: points.map(insertRequest) });
    return ids.map(idText);
  }

  async get(id: string): Promise<TestPoint & { id: string }> {
    const { id: found, vector, payload } = await this.#client.getPoint({ id: { value: id } });
    if (found === undefined || vector === undefined || payload === undefined) {
      throw new Error(`the point ${id} came back in part`);
    }
    const contentType = payload.contentType === ContentType.Text ? 'Text' : 'Image';
    return { id: idText(found), vector: vector.values, contentType, content: payload.content };
  }

  async delete(id: string): Promise<void> {
    await this.#client.deletePoint({ id: { value: id } });
  }

  async search(query: TestQuery): Promise<string[]> {
    return (await this.#client.searchPoints(searchRequest(query))).resultPointIds.map(idText);
  }

  async searchBatch(queries: readonly TestQuery[]): Promise<string[][]> {
    const { results } = await this.#client.searchPointsBatch({
      queries: queries.map(searchRequest),
    });
    return results.map(({ resultPointIds }) => resultPointIds.map(idText));
  }

  close(): void {
    this.v1.close();
    this.#channel.close();
  }
}

/** Whether a write that has failed had happened is for the test to find out. */
function connectOnce(address: string, key: string): PointsClient {
  return connect(address, { key, retries: { attempts: 1 } });
}

function insertJson({ vector, contentType, content }: TestPoint): string {
  const payload = JSON.stringify({ content_type: contentType, content });
  return `{"vector":${vectorJson(vector)},"payload":${payload}}`;
}

function queryJson({ vector, similarity, limit, ef }: TestQuery): string {
  const rest = ef === undefined ? '' : `,"ef":${ef}`;
  return `{"vector":${vectorJson(vector)},"similarity":"${similarity}","limit":${limit}${rest}}`;
}

/** JSON.stringify would write -0 as 0. */
function vectorJson(vector: readonly number[]): string {
  return `[${vector.map((value) => (Object.is(value, -0) ? '-0' : String(value))).join(',')}]`;
}

function insertRequest({ vector, contentType, content }: TestPoint): InsertVectorRequest {
  const payload = { contentType: ContentType[contentType], content };
  return { vector: { values: [...vector] }, payload };
}

function searchRequest({ vector, similarity, limit, ef }: TestQuery): SearchRequest {
  return {
    queryVector: { values: [...vector] },
    similarity: Similarity[similarity],
    limit: BigInt(limit),
    ef: BigInt(ef ?? 0),
  };
}

function idText({ id }: { id?: { value: string } | undefined }): string {
  if (id === undefined) throw new Error('an id without its UUID');
  return id.value;
}
