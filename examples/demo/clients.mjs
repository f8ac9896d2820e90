import { connect } from 'vectord';

/**
 * What the demo asks of a service, over either interface.
 * @typedef {object} Client
 * @property {string} name
 * @property {(points: readonly Point[]) => Promise<readonly string[]>} insertBatch
 * @property {(vector: number[], similarity: SimilarityName, limit: number) => Promise<string[]>} search
 * @property {(id: string) => Promise<string | undefined>} getText
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
  return client('gRPC', `grpc://${address}`, key);
}

/**
 * @param {string} baseUrl
 * @param {string} key
 * @returns {Client}
 */
export function httpClient(baseUrl, key) {
  return client('HTTP', baseUrl, key);
}

/**
 * @param {string} name
 * @param {string} address
 * @param {string} key
 * @returns {Client}
 */
function client(name, address, key) {
  const service = connect(address, { key });
  return {
    name,
    async insertBatch(points) {
      const { ids } = await service.upsert(
        points.map(({ vector, text }) => ({ vector, content: text })),
      );
      return ids;
    },
    async search(vector, similarity, limit) {
      const found = await service.search({ vector, similarity, limit, include: [] });
      return found.map(({ id }) => id);
    },
    async getText(id) {
      const { points } = await service.get([id], { include: ['content'] });
      return points[0]?.content;
    },
    close: () => service.close(),
  };
}
