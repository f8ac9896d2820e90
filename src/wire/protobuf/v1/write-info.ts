import { GraphState as WireState, InfoResponse } from '../../../gen/vectord/v1/points.js';
import type { GraphState, Info } from '../../../observe/info.js';
import { fromSimilarity } from './enums.js';

const STATES: Readonly<Record<GraphState, WireState>> = {
  building: WireState.GRAPH_STATE_BUILDING,
  ready: WireState.GRAPH_STATE_READY,
  failed: WireState.GRAPH_STATE_FAILED,
};

/** An InfoResponse. */
export function writeInfo({ version, dimension, points, bytes, graphs, limits }: Info) {
  return InfoResponse.encode({
    version,
    dimension,
    points: BigInt(points),
    bytes: bytes === undefined ? undefined : BigInt(bytes),
    graphs: graphs.map(({ similarity, state, slots, linked }) => ({
      similarity: fromSimilarity(similarity),
      state: STATES[state],
      slots: BigInt(slots),
      linked: BigInt(linked),
    })),
    limits: {
      maxRequestBytes: BigInt(limits.maxRequestBytes),
      maxBatch: BigInt(limits.maxBatch),
      maxContentBytes: BigInt(limits.maxContentBytes),
      maxSearchWork: BigInt(limits.maxSearchWork),
      maxInflightBytes: BigInt(limits.maxInflightBytes),
    },
  });
}
