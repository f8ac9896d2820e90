import { similarityName } from '../../core/model.js';
import type { Info } from '../../observe/info.js';

/** What the service tells of itself, as an answer of `/v1`. */
export function writeInfo({ version, dimension, points, bytes, graphs, limits }: Info): string {
  return JSON.stringify({
    version,
    dimension,
    points,
    bytes: bytes ?? null,
    graphs: graphs.map(({ similarity, ...graph }) => ({
      similarity: similarityName(similarity),
      ...graph,
    })),
    limits: {
      max_request_bytes: limits.maxRequestBytes,
      max_batch: limits.maxBatch,
      max_content_bytes: limits.maxContentBytes,
      max_search_work: limits.maxSearchWork,
      max_inflight_bytes: limits.maxInflightBytes,
    },
  });
}
