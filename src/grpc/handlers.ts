import { randomUUID } from 'node:crypto';
import type { CallContext, ServiceImplementation } from 'nice-grpc';
import { formatPointId } from '../core/point-id.js';
import type { OnRequestEnd } from '../core/request-end.js';
import { pointNotFound, type Service } from '../core/service.js';
import type { Decoder } from '../wire/decoder.js';
import type { Answer, ParserName } from '../wire/parsers.js';
import { toPointId } from '../wire/protobuf/convert.js';
import { idListsAnswer, idsAnswer } from '../wire/protobuf/large-ids.js';
import { noteAsked } from './call-notes.js';
import type { vectorDbDefinition } from './definition.js';
import { REQUEST_ID, toServerError } from './server-error.js';

type VectorDb = ServiceImplementation<typeof vectorDbDefinition>;

/** The methods of vectordb.VectorDB: each converts the request and leaves the rest to the service. */
export function vectorDbHandlers(service: Service, decoder: Decoder): VectorDb {
  const read = <Name extends ParserName>(
    name: Name,
    bytes: Uint8Array,
    context: CallContext,
  ): Answer<Name> | Promise<Answer<Name>> => {
    const note = (asked: Answer<Name>): Answer<Name> => {
      noteAsked(bytes, asked);
      return asked;
    };
    const asked = decoder.decode(name, bytes, callEnd(context));
    return asked instanceof Promise ? asked.then(note) : note(asked);
  };
  return {
    insertVector: answering(async (bytes, context) => {
      const id = await service.insert(await read('grpcPoint', bytes, context));
      return { id: { value: formatPointId(id) } };
    }),
    insertVectorsBatch: answering(async (bytes, context) => {
      return await service.insertBatch(await read('grpcPoints', bytes, context));
    }),
    deletePoint: answering(async (request) => {
      if (!(await service.delete(toPointId(request)))) throw pointNotFound();
      return {};
    }),
    getPoint: answering(async (request) => service.get(toPointId(request))),
    searchPoints: answering(async (bytes, context) => {
      const query = await read('grpcQuery', bytes, context);
      return idsAnswer(await service.search(query, callEnd(context)));
    }),
    searchPointsBatch: answering(async (bytes, context) => {
      const queries = await read('grpcQueries', bytes, context);
      return idListsAnswer(await service.searchBatch(queries, callEnd(context)));
    }),
  };
}

/** A method that answers failures; a plain function, because a middleware costs 9 % of a call. */
function answering<Request extends object, Response>(
  answer: (request: Request, context: CallContext) => Promise<Response>,
) {
  return async (request: Request | Error, context: CallContext): Promise<Response> => {
    try {
      if (request instanceof Error) throw request;
      return await answer(request, context);
    } catch (error) {
      const requestId = randomUUID();
      context.trailer.set(REQUEST_ID, requestId);
      throw toServerError(error, requestId);
    }
  };
}

function callEnd(context: CallContext): OnRequestEnd {
  return (listener) => {
    const { signal } = context;
    if (signal.aborted) listener();
    else signal.addEventListener('abort', listener, { once: true });
  };
}
