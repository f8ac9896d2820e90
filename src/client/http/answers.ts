import { floatsOf } from '../float-bytes.js';
import type {
  ContentType,
  Deleted,
  FilterIndex,
  Got,
  Graph,
  Info,
  Metadata,
  Page,
  Point,
  Updated,
  Upserted,
} from '../model.js';
import { fromBase64 } from './base64.js';

/** A point as an answer has it: the vector in base64. */
interface JsonPoint {
  readonly id: string;
  readonly distance?: number;
  readonly vector?: string;
  readonly content?: string;
  readonly content_type?: ContentType;
  readonly metadata?: Metadata | null;
}

interface JsonGraph extends Omit<Graph, 'idleSeconds'> {
  readonly idle_seconds: number;
}

interface JsonInfo extends Omit<Info, 'graphs' | 'filterIndex' | 'limits'> {
  readonly graphs: readonly JsonGraph[];
  readonly filter_index: readonly FilterIndex[];
  readonly limits: {
    readonly max_request_bytes: number;
    readonly max_batch: number;
    readonly max_content_bytes: number;
    readonly max_search_work: number;
    readonly max_inflight_bytes: number;
    readonly max_filter_index_bytes: number;
  };
}

export function readUpserted(json: unknown): Upserted {
  return json as Upserted;
}

export function readGot(json: unknown): Got {
  const { points, missing } = json as { points: JsonPoint[]; missing: string[] };
  return { points: points.map(pointOf), missing };
}

export function readFound(json: unknown): Point[] {
  return (json as { results: JsonPoint[] }).results.map(pointOf);
}

export function readFoundLists(json: unknown): Point[][] {
  const { results } = json as { results: JsonPoint[][] };
  return results.map((list) => list.map(pointOf));
}

export function readPage(json: unknown): Page {
  const { points, next } = json as { points: JsonPoint[]; next: string | null };
  return { points: points.map(pointOf), next };
}

export function readCount(json: unknown): number {
  return (json as { count: number }).count;
}

export function readDeleted(json: unknown): Deleted {
  return json as Deleted;
}

export function readUpdated(json: unknown): Updated {
  return json as Updated;
}

export function readInfo(json: unknown): Info {
  const { graphs, filter_index: filterIndex, limits, ...info } = json as JsonInfo;
  return {
    ...info,
    graphs: graphs.map(graphOf),
    filterIndex,
    limits: {
      maxRequestBytes: limits.max_request_bytes,
      maxBatch: limits.max_batch,
      maxContentBytes: limits.max_content_bytes,
      maxSearchWork: limits.max_search_work,
      maxInflightBytes: limits.max_inflight_bytes,
      maxFilterIndexBytes: limits.max_filter_index_bytes,
    },
  };
}

function graphOf({ idle_seconds: idleSeconds, ...graph }: JsonGraph): Graph {
  return { ...graph, idleSeconds };
}

function pointOf({ vector, content_type: contentType, ...point }: JsonPoint): Point {
  return {
    ...point,
    ...(vector === undefined ? {} : { vector: floatsOf(fromBase64(vector)) }),
    ...(contentType === undefined ? {} : { contentType }),
  };
}
