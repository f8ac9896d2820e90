import { Agent, request } from 'node:http';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import {
  InsertVectorsBatchRequest,
  SearchRequest,
  Similarity,
} from '../../dist/gen/vectordb/vectordb.js';

const LIMIT = 10;
const MAX_MESSAGE_BYTES = 256 * 1024 * 1024;

/**
 * One way to the service. Requests are made ready in advance, so that sending one costs little.
 * @typedef {object} Interface
 * @property {(vectors: Float32Array[]) => Buffer} makeBatch
 * @property {(vector: Float32Array) => Buffer} makeSearch
 * @property {(batch: Buffer) => Promise<void>} insert
 * @property {(search: Buffer) => Promise<void>} search
 */

/**
 * @param {'http' | 'grpc'} name
 * @param {{ http: string, grpc: string, key: string }} server
 * @returns {Interface}
 */
export function openInterface(name, server) {
  return name === 'http' ? openHttp(server) : openGrpc(server);
}

function openHttp({ http, key }) {
  // Requests that overlap each take a connection; those are kept for the next ones.
  const agent = new Agent({ keepAlive: true });
  const payload = { content_type: 'Text', content: 'x' };
  const post = (path, body, expected) =>
    new Promise((resolve, reject) => {
      const headers = {
        'api-key': key,
        'content-type': 'application/json',
        'content-length': body.length,
      };
      const call = request(`${http}${path}`, { method: 'POST', agent, headers }, (response) => {
        const settle = response.statusCode === expected ? resolve : reject;
        response.resume().on('end', () => settle(new Error(`${path}: ${response.statusCode}`)));
      });
      call.on('error', reject).end(body);
    });
  return {
    makeBatch: (vectors) =>
      toBody({ vectors: vectors.map((vector) => ({ vector: [...vector], payload })) }),
    makeSearch: (vector) => toBody({ vector: [...vector], similarity: 'Euclidean', limit: LIMIT }),
    insert: (batch) => post('/points/batch', batch, 201),
    search: (search) => post('/points/search', search, 200),
  };
}

function openGrpc({ grpc, key }) {
  const client = new Client(grpc, credentials.createInsecure(), {
    'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  });
  const metadata = new Metadata();
  metadata.set('authorization', key);
  const call = (method, bytes) =>
    new Promise((resolve, reject) => {
      const path = `/vectordb.VectorDB/${method}`;
      client.makeUnaryRequest(path, asItIs, asItIs, bytes, metadata, (error) =>
        error ? reject(error) : resolve(),
      );
    });
  const payload = { contentType: 1, content: 'x' };
  return {
    makeBatch: (vectors) =>
      Buffer.from(
        InsertVectorsBatchRequest.encode({
          vectors: vectors.map((values) => ({ vector: { values }, payload })),
        }).finish(),
      ),
    makeSearch: (values) =>
      Buffer.from(
        SearchRequest.encode({
          queryVector: { values },
          similarity: Similarity.Euclidean,
          limit: BigInt(LIMIT),
          ef: 0n,
        }).finish(),
      ),
    insert: (batch) => call('InsertVectorsBatch', batch),
    search: (search) => call('SearchPoints', search),
  };
}

/** Messages are bytes before they get here; answers are not looked at. */
function asItIs(bytes) {
  return bytes;
}

function toBody(value) {
  return Buffer.from(JSON.stringify(value));
}
