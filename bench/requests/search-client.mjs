import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { SearchResponse } from '../../dist/gen/vectordb/vectordb.js';
import { SEARCH_PATH } from './search-message.mjs';

/**
 * A client that reads the answers. It takes messages that are encoded already.
 * @param {{ grpc: string, key: string }} server
 */
export function openSearches({ grpc, key }) {
  const client = new Client(grpc, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set('authorization', key);
  return {
    /** @param {Uint8Array} message @returns {Promise<SearchResponse>} */
    search: (message) =>
      new Promise((resolve, reject) => {
        const settle = (error, answer) => (error ? reject(error) : resolve(answer));
        const { decode } = SearchResponse;
        client.makeUnaryRequest(SEARCH_PATH, Buffer.from, decode, message, metadata, settle);
      }),
    close: () => client.close(),
  };
}
