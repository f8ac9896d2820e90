import { createChannel, createClient, Metadata } from 'nice-grpc';
import { ContentType, Similarity, VectorDBDefinition } from '../../dist/gen/vectordb/vectordb.js';

/**
 * What both interfaces offer, each in its own way.
 * @typedef {object} Client
 * @property {string} name
 * @property {(points: readonly Point[]) => Promise<string[]>} insertBatch
 * @property {(vector: number[], similarity: SimilarityName, limit: number) => Promise<string[]>} search
 * @property {(id: string) => Promise<string>} getText
 * @property {() => void} close
 *
 * @typedef {{ vector: number[], text: string }} Point
 * @typedef {'Cosine' | 'Euclidean' | 'Manhattan' | 'Hamming'} SimilarityName
 */

/**
 * @param {string} address
 * @param {string} key
 * @returns {Client}
 */
export function grpcClient(address, key) {
  const channel = createChannel(address);
  const metadata = Metadata({ authorization: key });
  const client = createClient(VectorDBDefinition, channel, { '*': { metadata } });
  return {
    name: 'gRPC',
    async insertBatch(points) {
      const vectors = points.map(({ vector, text }) => ({
        vector: { values: vector },
        payload: { contentType: ContentType.Text, content: text },
      }));
      const { ids } = await client.insertVectorsBatch({ vectors });
      return ids.map(({ id }) => id.value);
    },
    async search(vector, similarity, limit) {
      const { resultPointIds } = await client.searchPoints({
        queryVector: { values: vector },
        similarity: Similarity[similarity],
        limit: BigInt(limit),
        // Leaves the search breadth to the service.
        ef: 0n,
      });
      return resultPointIds.map(({ id }) => id.value);
    },
    async getText(id) {
      const { payload } = await client.getPoint({ id: { value: id } });
      return payload.content;
    },
    close: () => channel.close(),
  };
}

/**
 * @param {string} baseUrl
 * @param {string} key
 * @returns {Client}
 */
export function httpClient(baseUrl, key) {
  /**
   * @param {string} path
   * @param {object} [body] what to POST; without it the request is a GET
   */
  async function request(path, body) {
    const response = await fetch(`${baseUrl}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return await response.json();
  }
  return {
    name: 'HTTP',
    async insertBatch(points) {
      const vectors = points.map(({ vector, text }) => ({
        vector,
        payload: { content_type: 'Text', content: text },
      }));
      const { point_ids: ids } = await request('/points/batch', { vectors });
      return ids;
    },
    async search(vector, similarity, limit) {
      const { results } = await request('/points/search', { vector, similarity, limit });
      return results;
    },
    async getText(id) {
      const { payload } = await request(`/points/${id}`);
      return payload.content;
    },
    close() {},
  };
}
