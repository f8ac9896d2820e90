import {
  CountResponse,
  DeleteResponse,
  InfoResponse,
  UpdateResponse,
  UpsertResponse,
} from '../../gen/vectord/v1/points.js';
import { UnexpectedAnswerError } from '../errors.js';
import type { Deleted, Info, Updated, Upserted } from '../model.js';
import { toFilterIndexState, toGraphState, toSimilarity } from './enums.js';

/*
 * Answers without vectors, by the generated code. Counts are below 2^53, since each takes memory.
 */

export function readUpserted(bytes: Uint8Array): Upserted {
  const { ids, stored, replaced, kept } = UpsertResponse.decode(bytes);
  return { ids, stored: Number(stored), replaced: Number(replaced), kept: Number(kept) };
}

export function readCount(bytes: Uint8Array): number {
  return Number(CountResponse.decode(bytes).count);
}

export function readDeleted(bytes: Uint8Array): Deleted {
  const { deleted, missing } = DeleteResponse.decode(bytes);
  return { deleted: Number(deleted), missing };
}

export function readUpdated(bytes: Uint8Array): Updated {
  const { updated, missing } = UpdateResponse.decode(bytes);
  return { updated: Number(updated), missing };
}

export function readInfo(message: Uint8Array): Info {
  const info = InfoResponse.decode(message);
  const { version, dimension, points, bytes, graphs, filterIndex, limits } = info;
  if (limits === undefined) throw new UnexpectedAnswerError('the answer has no limits');
  return {
    version,
    dimension,
    points: Number(points),
    bytes: bytes === undefined ? null : Number(bytes),
    graphs: graphs.map((graph) => ({
      similarity: toSimilarity(graph.similarity),
      state: toGraphState(graph.state),
      slots: Number(graph.slots),
      linked: Number(graph.linked),
      bytes: Number(graph.bytes),
      idleSeconds: Number(graph.idleSeconds),
    })),
    filterIndex: filterIndex.map(({ field, state, bytes: size }) => ({
      field,
      state: toFilterIndexState(state),
      bytes: Number(size),
    })),
    limits: {
      maxRequestBytes: Number(limits.maxRequestBytes),
      maxBatch: Number(limits.maxBatch),
      maxContentBytes: Number(limits.maxContentBytes),
      maxSearchWork: Number(limits.maxSearchWork),
      maxInflightBytes: Number(limits.maxInflightBytes),
      maxFilterIndexBytes: Number(limits.maxFilterIndexBytes),
    },
  };
}
