import {
  FilterIndexState as WireFilterIndexState,
  GraphState as WireGraphState,
  InfoResponse,
} from '../../../gen/vectord/v1/points.js';
import type { FilterIndexState, GraphState, Info } from '../../../observe/info.js';
import { fromSimilarity } from './enums.js';

const GRAPH_STATES: Readonly<Record<GraphState, WireGraphState>> = {
  building: WireGraphState.GRAPH_STATE_BUILDING,
  ready: WireGraphState.GRAPH_STATE_READY,
  failed: WireGraphState.GRAPH_STATE_FAILED,
};

const FILTER_INDEX_STATES: Readonly<Record<FilterIndexState, WireFilterIndexState>> = {
  building: WireFilterIndexState.FILTER_INDEX_STATE_BUILDING,
  ready: WireFilterIndexState.FILTER_INDEX_STATE_READY,
  scanned: WireFilterIndexState.FILTER_INDEX_STATE_SCANNED,
};

/** An InfoResponse. */
export function writeInfo(info: Info) {
  const { version, dimension, points, bytes, graphs, filterIndex, limits } = info;
  return InfoResponse.encode({
    version,
    dimension,
    points: BigInt(points),
    bytes: bytes === undefined ? undefined : BigInt(bytes),
    graphs: graphs.map((graph) => ({
      similarity: fromSimilarity(graph.similarity),
      state: GRAPH_STATES[graph.state],
      slots: BigInt(graph.slots),
      linked: BigInt(graph.linked),
      bytes: BigInt(graph.bytes),
      idleSeconds: BigInt(graph.idleSeconds),
    })),
    filterIndex: filterIndex.map(({ field, state, bytes: size }) => ({
      field,
      state: FILTER_INDEX_STATES[state],
      bytes: BigInt(size),
    })),
    limits: {
      maxRequestBytes: BigInt(limits.maxRequestBytes),
      maxBatch: BigInt(limits.maxBatch),
      maxContentBytes: BigInt(limits.maxContentBytes),
      maxSearchWork: BigInt(limits.maxSearchWork),
      maxInflightBytes: BigInt(limits.maxInflightBytes),
      maxFilterIndexBytes: BigInt(limits.maxFilterIndexBytes),
    },
  });
}
