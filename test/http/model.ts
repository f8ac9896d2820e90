/*
 * What is to come of a body: JSON.parse says what it means, and then the few rules of the contract
 * are looked up in it. The service itself reads vectors in another way.
 */

export const DIMENSION = 4;

/** The defaults of MAX_SEARCH_WORK and HNSW_EF. */
const MAX_SEARCH_WORK = 20_000_000;
const DEFAULT_EF = 100;

const SIMILARITIES = new Set<unknown>(['Euclidean', 'Manhattan', 'Hamming', 'Cosine']);
const CONTENT_TYPES = new Set<unknown>(['Text', 'Image']);

type JsonObject = Readonly<Record<string, unknown>>;

export interface StoredPoint {
  readonly vector: readonly number[];
  readonly payload: { readonly content_type: unknown; readonly content: unknown };
}

export interface Expected {
  readonly status: number;
  /** What was inserted, as a get of each point is to answer it. */
  readonly points: readonly StoredPoint[];
}

const BAD_REQUEST: Expected = { status: 400, points: [] };

/** How a POST of `body` is to end. */
export function expectAnswer(path: string, body: Uint8Array): Expected {
  const value = parse(body);
  if (!isObject(value)) return BAD_REQUEST;
  switch (path) {
    case '/points':
      return expectPoints([value]);
    case '/points/batch':
      return Array.isArray(value['vectors']) ? expectPoints(value['vectors']) : BAD_REQUEST;
    case '/points/search':
      return expectQueries([value]);
    default:
      return Array.isArray(value['queries']) ? expectQueries(value['queries']) : BAD_REQUEST;
  }
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
  } catch {
    return undefined;
  }
}

function expectPoints(values: readonly unknown[]): Expected {
  const points: StoredPoint[] = [];
  for (const value of values) {
    if (!isObject(value) || !isObject(value['payload'])) return BAD_REQUEST;
    const vector = toVector(value['vector']);
    const { content_type, content } = value['payload'];
    const isText = typeof content === 'string' && content.isWellFormed();
    if (vector === undefined || !isText || !CONTENT_TYPES.has(content_type)) {
      return BAD_REQUEST;
    }
    points.push({ vector, payload: { content_type, content } });
  }
  return { status: 201, points };
}

function expectQueries(values: readonly unknown[]): Expected {
  let work = 0;
  for (const value of values) {
    if (!isObject(value) || toVector(value['vector']) === undefined) return BAD_REQUEST;
    const { similarity, limit, ef = 0 } = value;
    if (!SIMILARITIES.has(similarity) || !isCount(limit) || limit === 0 || !isCount(ef)) {
      return BAD_REQUEST;
    }
    // There are far too few points for a limit to count.
    work += ef === 0 ? DEFAULT_EF : ef;
  }
  const isTooMuch = values.length > 1 && work > MAX_SEARCH_WORK;
  return { status: isTooMuch ? 413 : 200, points: [] };
}

/** The values as they are stored. */
function toVector(value: unknown): number[] | undefined {
  if (!Array.isArray(value) || value.length !== DIMENSION) return undefined;
  const vector = value.map((item) => (typeof item === 'number' ? Math.fround(item) : Number.NaN));
  return vector.every(Number.isFinite) ? vector : undefined;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
