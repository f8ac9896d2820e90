import type { ServiceImplementation } from 'nice-grpc';
import { formatPointId } from '../core/point-id.js';
import { pointNotFound, type Service } from '../core/service.js';
import type { Decoder } from '../wire/decoder.js';
import { toPointId } from '../wire/protobuf/convert.js';
import { idListsAnswer, idsAnswer } from '../wire/protobuf/large-ids.js';
import { answering, callEnd, messageReader } from './answering.js';
import type { vectorDbDefinition } from './definition.js';

type VectorDb = ServiceImplementation<typeof vectorDbDefinition>;

/** The methods of vectordb.VectorDB: each converts the request and leaves the rest to the service. */
export function vectorDbHandlers(service: Service, decoder: Decoder): VectorDb {
  const read = messageReader(decoder);
  return {
    insertVector: answering(async (bytes, context) => {
      const id = await service.insert(await read('grpcPoint', bytes, callEnd(context)));
      return { id: { value: formatPointId(id) } };
    }),
    insertVectorsBatch: answering(async (bytes, context) => {
      return await service.insertBatch(await read('grpcPoints', bytes, callEnd(context)));
    }),
    deletePoint: answering(async (request) => {
      if (!(await service.delete(toPointId(request)))) throw pointNotFound();
      return {};
    }),
    getPoint: answering(async (request) => await service.get(toPointId(request))),
    searchPoints: answering(async (bytes, context) => {
      const query = await read('grpcQuery', bytes, callEnd(context));
      return idsAnswer(await service.search(query, callEnd(context)));
    }),
    searchPointsBatch: answering(async (bytes, context) => {
      const queries = await read('grpcQueries', bytes, callEnd(context));
      return idListsAnswer(await service.searchBatch(queries, callEnd(context)));
    }),
  };
}
