import { similarityName } from '../../core/model.js';
import type { Info } from '../../observe/info.js';

/** What the service tells of itself, as an answer of `/v1`. */
export function writeInfo(info: Info): string {
  const { version, dimension, points, bytes, graphs, filterIndex, limits } = info;
  return JSON.stringify({
    version,
    dimension,
    points,
    bytes: bytes ?? null,
    graphs: graphs.map((graph) => ({
      similarity: similarityName(graph.similarity),
      state: graph.state,
      slots: graph.slots,
      linked: graph.linked,
      bytes: graph.bytes,
      idle_seconds: graph.idleSeconds,
    })),
    filter_index: filterIndex,
    limits: {
      max_request_bytes: limits.maxRequestBytes,
      max_batch: limits.maxBatch,
      max_content_bytes: limits.maxContentBytes,
      max_search_work: limits.maxSearchWork,
      max_inflight_bytes: limits.maxInflightBytes,
      max_filter_index_bytes: limits.maxFilterIndexBytes,
    },
  });
}
