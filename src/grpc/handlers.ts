import { randomUUID } from 'node:crypto';
import { ServerError, type CallContext, type ServiceImplementation } from 'nice-grpc';
import type { Decoder, OnRequestEnd } from '../decode/decoder.js';
import { VectordError } from '../errors.js';
import type { Logger } from '../logger.js';
import { formatPointId } from '../point-id.js';
import { pointNotFound, type Service } from '../service.js';
import { REQUEST_ID } from './call-record.js';
import { toNewPoint, toPointId, toQuery } from './convert.js';
import type { vectorDbDefinition } from './definition.js';
import { idListsAnswer, idsAnswer } from './large-ids.js';

type VectorDb = ServiceImplementation<typeof vectorDbDefinition>;

/** The methods of vectordb.VectorDB: each converts the request and leaves the rest to the service. */
export function vectorDbHandlers(service: Service, decoder: Decoder, logger: Logger): VectorDb {
  return {
    insertVector: answering(logger, async (request) => {
      const id = await service.insert(toNewPoint(request, ''));
      return { id: { value: formatPointId(id) } };
    }),
    insertVectorsBatch: answering(logger, async (bytes, context) =>
      service.insertBatch(await decoder.decode('grpcPoints', bytes, callEnd(context))),
    ),
    deletePoint: answering(logger, async (request) => {
      if (!(await service.delete(toPointId(request)))) throw pointNotFound();
      return {};
    }),
    getPoint: answering(logger, async (request) => service.get(toPointId(request))),
    searchPoints: answering(logger, async (request) =>
      idsAnswer(await service.search(toQuery(request, ''))),
    ),
    searchPointsBatch: answering(logger, async (bytes, context) => {
      const queries = await decoder.decode('grpcQueries', bytes, callEnd(context));
      return idListsAnswer(await service.searchBatch(queries));
    }),
  };
}

/** A method that answers failures; a plain function, because a middleware costs 9 % of a call. */
function answering<Request, Response>(
  logger: Logger,
  answer: (request: Request, context: CallContext) => Promise<Response>,
) {
  return async (request: Request | Error, context: CallContext): Promise<Response> => {
    try {
      if (request instanceof Error) throw request;
      return await answer(request, context);
    } catch (error) {
      throw toServerError(error, context, logger);
    }
  };
}

function callEnd({ signal }: CallContext): OnRequestEnd {
  return (listener) => {
    if (signal.aborted) listener();
    else signal.addEventListener('abort', listener, { once: true });
  };
}

/** The failure as the client may see it; one that is not meant for it only by the request's id. */
function toServerError(error: unknown, context: CallContext, logger: Logger): ServerError {
  const requestId = randomUUID();
  context.trailer.set(REQUEST_ID, requestId);
  if (error instanceof VectordError && error.code !== 'INTERNAL') {
    return new ServerError(error.grpcStatus, error.message);
  }
  logger.error({ requestId, err: error }, 'grpc call failed');
  const { grpcStatus } = new VectordError('INTERNAL', '');
  return new ServerError(grpcStatus, `Internal server error (request ${requestId})`);
}
