import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { SearchRequest, SearchResponse, Similarity } from '../../dist/gen/vectordb/vectordb.js';

const LIMIT = 10;
/** Each about a twentieth more than the one before. */
const LADDER = Array.from({ length: 76 }, (_, step) => Math.round(20 * 1.05 ** step));

/**
 * The least breadth of a ladder at which so many of the nearest are found. What they are is told
 * by the same server: a search as broad as all points is exact.
 * @param {number} least @param {{ grpc: string, key: string }} server
 * @param {Float32Array[]} queries @param {number} points
 */
export async function breadthFor(least, { grpc, key }, queries, points) {
  const client = new Client(grpc, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set('authorization', key);
  const search = (request) =>
    new Promise((resolve, reject) => {
      const path = '/vectordb.VectorDB/SearchPoints';
      const settle = (error, answer) => (error ? reject(error) : resolve(answer));
      client.makeUnaryRequest(path, encode, SearchResponse.decode, request, metadata, settle);
    });
  const idsAt = async (ef) => {
    const found = [];
    for (const values of queries) {
      const { resultPointIds } = await search({
        queryVector: { values },
        similarity: Similarity.Euclidean,
        limit: BigInt(LIMIT),
        ef: BigInt(ef),
      });
      found.push(resultPointIds.map(({ id }) => id.value));
    }
    return found;
  };
  try {
    const exact = (await idsAt(points)).map((ids) => new Set(ids));
    for (const ef of LADDER) {
      const found = await idsAt(ef);
      const hits = found.flatMap((ids, query) => ids.filter((id) => exact[query].has(id)));
      const recall = hits.length / (queries.length * LIMIT);
      if (recall >= least) return { ef, recall };
    }
    throw new Error(`no breadth up to ${LADDER.at(-1)} reaches a recall of ${least}`);
  } finally {
    client.close();
  }
}

function encode(message) {
  return Buffer.from(SearchRequest.encode(message).finish());
}
