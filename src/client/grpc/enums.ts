import {
  ContentType as WireContentType,
  FilterIndexState,
  GraphState,
  Order as WireOrder,
  Similarity as WireSimilarity,
} from '../../gen/vectord/v1/points.js';
import { UnexpectedAnswerError } from '../errors.js';
import type { ContentType, FilterIndex, Graph, Order, Similarity } from '../model.js';

export const SIMILARITIES: Readonly<Record<Similarity, WireSimilarity>> = {
  Euclidean: WireSimilarity.SIMILARITY_EUCLIDEAN,
  Manhattan: WireSimilarity.SIMILARITY_MANHATTAN,
  Hamming: WireSimilarity.SIMILARITY_HAMMING,
  Cosine: WireSimilarity.SIMILARITY_COSINE,
};

export const CONTENT_TYPES: Readonly<Record<ContentType, WireContentType>> = {
  Text: WireContentType.CONTENT_TYPE_TEXT,
  Image: WireContentType.CONTENT_TYPE_IMAGE,
};

export const ORDERS: Readonly<Record<Order, WireOrder>> = {
  oldest: WireOrder.ORDER_OLDEST,
  newest: WireOrder.ORDER_NEWEST,
};

const GRAPH_STATES: Readonly<Record<Graph['state'], GraphState>> = {
  building: GraphState.GRAPH_STATE_BUILDING,
  ready: GraphState.GRAPH_STATE_READY,
  failed: GraphState.GRAPH_STATE_FAILED,
};

const FILTER_INDEX_STATES: Readonly<Record<FilterIndex['state'], FilterIndexState>> = {
  building: FilterIndexState.FILTER_INDEX_STATE_BUILDING,
  ready: FilterIndexState.FILTER_INDEX_STATE_READY,
  scanned: FilterIndexState.FILTER_INDEX_STATE_SCANNED,
};

export const toSimilarity = reader(SIMILARITIES, 'similarity');
export const toContentType = reader(CONTENT_TYPES, 'content type');
export const toGraphState = reader(GRAPH_STATES, 'state of a graph');
export const toFilterIndexState = reader(FILTER_INDEX_STATES, 'state of a filter index');

/** What reads the names of numbers. */
function reader<Name extends string>(numbers: Readonly<Record<Name, number>>, what: string) {
  const known = Object.keys(numbers) as Name[];
  const names = new Map(known.map((name) => [numbers[name], name]));
  return (number: number): Name => {
    const name = names.get(number);
    if (name !== undefined) return name;
    throw new UnexpectedAnswerError(`the answer has ${number} as a ${what}, which is none`);
  };
}
