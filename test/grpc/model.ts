import { status } from '@grpc/grpc-js';
import * as protobuf from '../support/reference-protobuf.js';

/*
 * What is to come of a message: it is read as protobuf, and then the few rules of the contract
 * are looked up in it.
 */

export const DIMENSION = 4;

/** The default of MAX_SEARCH_WORK, and of HNSW_EF. */
const MAX_SEARCH_WORK = 20_000_000n;
const DEFAULT_EF = 100n;
/** What a call for one point or one query may send, its frame header included, as docs/CONFIGURATION.md says. */
const SINGLE_BYTES = 64 * 1024 + 16 * DIMENSION;
/** What a call that names a point may send. */
const ID_BYTES = 1024;
const MAX_CONTENT_BYTES = 1024 * 1024;
const FRAME_HEADER_BYTES = 5;
const MOST_BYTES: Record<Method, number> = {
  InsertVector: SINGLE_BYTES + MAX_CONTENT_BYTES,
  InsertVectorsBatch: Infinity,
  DeletePoint: ID_BYTES,
  GetPoint: ID_BYTES,
  SearchPoints: SINGLE_BYTES,
  SearchPointsBatch: Infinity,
};
const MAX_CONTENT_TYPE = 1;
const MAX_SIMILARITY = 3;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const SCHEMAS = {
  InsertVector: protobuf.INSERT,
  InsertVectorsBatch: protobuf.INSERT_BATCH,
  DeletePoint: protobuf.POINT_ID,
  GetPoint: protobuf.POINT_ID,
  SearchPoints: protobuf.SEARCH,
  SearchPointsBatch: protobuf.SEARCH_BATCH,
};

export type Method = keyof typeof SCHEMAS;

/** The methods of vectordb.VectorDB. */
export const METHODS = Object.keys(SCHEMAS) as Method[];

export interface Item {
  readonly vector?: { readonly values: readonly number[] };
  readonly payload?: { readonly contentType: number; readonly content: string };
  readonly queryVector?: { readonly values: readonly number[] };
  readonly similarity: number;
  readonly limit: bigint;
  readonly ef: bigint;
}

export interface Expected {
  readonly code: status;
  /** What a request to insert or to search asks for; of a single one it is the only item. */
  readonly items: readonly Item[];
  /** The id that is asked for, in lower case, if it is one. */
  readonly id?: string;
}

/** How the call is to end; `exists` knows the points by their ids. */
export function expectAnswer(
  method: Method,
  bytes: Uint8Array,
  exists: (id: string) => boolean,
): Expected {
  const isLarge = FRAME_HEADER_BYTES + bytes.length > MOST_BYTES[method];
  if (isLarge) return { code: status.RESOURCE_EXHAUSTED, items: [] };
  const message = read(method, bytes);
  if (message === undefined) return { code: status.INVALID_ARGUMENT, items: [] };
  if (method === 'GetPoint' || method === 'DeletePoint') return expectOfId(message, exists);
  const items = (message['vectors'] ?? message['queries'] ?? [message]) as Item[];
  return { code: method.startsWith('Insert') ? codeOfPoints(items) : codeOfQueries(items), items };
}

function read(method: Method, bytes: Uint8Array): protobuf.Message | undefined {
  try {
    return protobuf.decode(SCHEMAS[method], bytes);
  } catch {
    return undefined;
  }
}

function expectOfId(message: protobuf.Message, exists: (id: string) => boolean): Expected {
  const { id } = message as { id?: { value: string } };
  if (id === undefined || !UUID.test(id.value)) return { code: status.INVALID_ARGUMENT, items: [] };
  const known = id.value.toLowerCase();
  return { code: exists(known) ? status.OK : status.NOT_FOUND, items: [], id: known };
}

function codeOfPoints(points: readonly Item[]): status {
  const isGood = ({ vector, payload }: Item): boolean =>
    isVector(vector) && payload !== undefined && isWithin(payload.contentType, MAX_CONTENT_TYPE);
  return points.every(isGood) ? status.OK : status.INVALID_ARGUMENT;
}

function codeOfQueries(queries: readonly Item[]): status {
  const isGood = ({ queryVector, similarity, limit }: Item): boolean =>
    queryVector?.values.length === DIMENSION && isWithin(similarity, MAX_SIMILARITY) && limit > 0n;
  if (!queries.every(isGood)) return status.INVALID_ARGUMENT;
  // There are far too few points for a limit to count.
  const work = queries.reduce((sum, { ef }) => sum + (ef === 0n ? DEFAULT_EF : ef), 0n);
  if (queries.length > 1 && work > MAX_SEARCH_WORK) return status.RESOURCE_EXHAUSTED;
  // Nobody looks at the values of what is too much.
  const areVectors = queries.every(({ queryVector }) => isVector(queryVector));
  return areVectors ? status.OK : status.INVALID_ARGUMENT;
}

function isVector(vector: Item['vector']): boolean {
  return vector?.values.length === DIMENSION && vector.values.every(Number.isFinite);
}

function isWithin(value: number, greatest: number): boolean {
  return value >= 0 && value <= greatest;
}
