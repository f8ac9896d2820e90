import { invalid } from '../../../core/errors.js';
import { ContentType, Similarity } from '../../../core/model.js';
import {
  ContentType as WireContentType,
  Order,
  Similarity as WireSimilarity,
} from '../../../gen/vectord/v1/points.js';
import type { WireReader } from '../wire-reader.js';

/** The members of an enum of the protocol, by their numbers. */
type Members<Member> = ReadonlyMap<number, Member>;

const SIMILARITIES: Members<Similarity> = new Map([
  [WireSimilarity.SIMILARITY_EUCLIDEAN, Similarity.Euclidean],
  [WireSimilarity.SIMILARITY_MANHATTAN, Similarity.Manhattan],
  [WireSimilarity.SIMILARITY_HAMMING, Similarity.Hamming],
  [WireSimilarity.SIMILARITY_COSINE, Similarity.Cosine],
]);

const CONTENT_TYPES: Members<ContentType> = new Map([
  [WireContentType.CONTENT_TYPE_UNSPECIFIED, ContentType.Text],
  [WireContentType.CONTENT_TYPE_TEXT, ContentType.Text],
  [WireContentType.CONTENT_TYPE_IMAGE, ContentType.Image],
]);

/** Whether the points that were written last come first. */
const ORDERS: Members<boolean> = new Map([
  [Order.ORDER_UNSPECIFIED, false],
  [Order.ORDER_OLDEST, false],
  [Order.ORDER_NEWEST, true],
]);

export function readContentType(reader: WireReader, where: string): ContentType {
  const expected = '0 or 1 (text), or 2 (image)';
  return member(CONTENT_TYPES, reader.int32(), `${where}content_type`, expected);
}

export function readNewestFirst(reader: WireReader): boolean {
  return member(ORDERS, reader.int32(), 'order', '0 or 1 (oldest), or 2 (newest)');
}

/** The similarity of this number of the protocol. */
export function toSimilarity(number: number, where: string): Similarity {
  const expected = '1 (Euclidean), 2 (Manhattan), 3 (Hamming) or 4 (Cosine)';
  return member(SIMILARITIES, number, `${where}similarity`, expected);
}

export function fromSimilarity(similarity: Similarity): WireSimilarity {
  return similarity + WireSimilarity.SIMILARITY_EUCLIDEAN;
}

export function fromContentType(contentType: number): WireContentType {
  return contentType === ContentType.Text
    ? WireContentType.CONTENT_TYPE_TEXT
    : WireContentType.CONTENT_TYPE_IMAGE;
}

function member<Member>(
  members: Members<Member>,
  number: number,
  field: string,
  expected: string,
): Member {
  const found = members.get(number);
  if (found !== undefined) return found;
  throw invalid(`${field} is ${number}, expected ${expected}`);
}
