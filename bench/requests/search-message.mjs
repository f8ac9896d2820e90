import { SearchRequest, Similarity } from '../../dist/gen/vectordb/vectordb.js';

export const SEARCH_PATH = '/vectordb.VectorDB/SearchPoints';
export const LIMIT = 10;
/** What gRPC puts before a message: a byte that says it is not compressed, and its length. */
export const FRAME_BYTES = 5;

/** @param {ArrayLike<number>} values @param {number} ef */
export function searchMessage(values, ef) {
  return SearchRequest.encode({
    queryVector: { values },
    similarity: Similarity.Euclidean,
    limit: BigInt(LIMIT),
    ef: BigInt(ef),
  }).finish();
}

/** A message as the body of a call. */
export function framed(message) {
  const frame = Buffer.alloc(FRAME_BYTES + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, FRAME_BYTES);
  return frame;
}
