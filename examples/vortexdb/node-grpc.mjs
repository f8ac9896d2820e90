// Stores, finds, fetches and deletes points over gRPC, with @grpc/grpc-js and the contract in
// proto/vectordb/vectordb.proto, which is all that such a client needs.
// The service runs with DIMENSION=4; VECTORD_GRPC and VECTORD_KEY say where it is and how to enter.
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { credentials, loadPackageDefinition, Metadata } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const { VECTORD_GRPC = '127.0.0.1:50051', VECTORD_KEY = '' } = process.env;

const proto = fileURLToPath(new URL('../../proto/vectordb/vectordb.proto', import.meta.url));
const { vectordb } = loadPackageDefinition(loadSync(proto, { keepCase: true, enums: String }));
const client = new vectordb.VectorDB(VECTORD_GRPC, credentials.createInsecure());
const metadata = new Metadata();
metadata.set('authorization', VECTORD_KEY);

const inserted = await call('InsertVector', {
  vector: { values: [0.1, 0.2, 0.3, 0.4] },
  payload: { content_type: 'Text', content: 'a cat on a mat' },
});
console.log('inserted:', inserted.id.value);

const { ids } = await call('InsertVectorsBatch', {
  vectors: [
    {
      vector: { values: [0.4, 0.3, 0.2, 0.1] },
      payload: { content_type: 'Text', content: 'a dog' },
    },
    {
      vector: { values: [-1, 0, 0, 1] },
      payload: { content_type: 'Image', content: 'bird.png' },
    },
  ],
});
console.log('inserted:', ids.map(valueOf));

const { result_point_ids: results } = await call('SearchPoints', {
  query_vector: { values: [0.1, 0.2, 0.3, 0.5] },
  similarity: 'Cosine',
  limit: 2,
});
console.log('nearest: ', results.map(valueOf));

const { vector, payload } = await call('GetPoint', inserted);
console.log('stored:  ', vector.values, payload);

await call('DeletePoint', inserted);
console.log('deleted: ', inserted.id.value);
client.close();

/** Answers the response; a status that is not OK becomes an error. */
function call(method, request) {
  return promisify(client[method]).call(client, request, metadata);
}

function valueOf(pointId) {
  return pointId.id.value;
}
