import type { ServiceImplementation } from 'nice-grpc';
import { includeOf, unionOf } from '../core/include.js';
import type { PointIds } from '../core/point-id.js';
import type { PointsService } from '../core/points-service.js';
import type { Upserted } from '../core/records.js';
import type { OnRequestEnd } from '../core/request-end.js';
import type { Info } from '../observe/info.js';
import type { Decoder } from '../wire/decoder.js';
import { answering, answeringAll, callEnd, messageReader, StreamEnd } from './answering.js';
import type { pointsServiceDefinition } from './v1-definition.js';

/** The ids of all points of an upsert, and what became of them. */
type UpsertAnswer = Upserted & { readonly ids: PointIds };

type Handlers = ServiceImplementation<typeof pointsServiceDefinition>;

/** What a message of a ScrollStream holds at most, unless one point has more. */
const STREAM_POINTS = 1_024;
const STREAM_BYTES = 1024 * 1024;

/** The methods of vectord.v1.PointsService: each converts and leaves the rest to the service. */
export function pointsServiceHandlers(
  points: PointsService,
  decoder: Decoder,
  info: () => Promise<Info>,
): Handlers {
  const read = messageReader(decoder);
  const upsert = async (bytes: Uint8Array, onRequestEnd: OnRequestEnd): Promise<UpsertAnswer> => {
    const batch = await read('grpcUpsert', bytes, onRequestEnd);
    return { ids: batch.ids, ...(await points.upsert(batch, batch.keeps)) };
  };
  return {
    upsert: answering(async (bytes, context) => await upsert(bytes, callEnd(context))),
    upsertStream: answeringAll(async function* upsertStream(messages, context) {
      const end = new StreamEnd(context.signal);
      for await (const message of messages) yield await upsert(message, end.next());
    }),
    update: answering(async (bytes, context) =>
      points.update(await read('grpcUpdate', bytes, callEnd(context))),
    ),
    delete: answering(async (bytes, context) => {
      return await points.delete(await read('grpcDelete', bytes, callEnd(context)));
    }),
    get: answering(async (bytes, context) => {
      const { ids, include } = await read('grpcGet', bytes, callEnd(context));
      return { ...(await points.get(ids, includeOf(include), callEnd(context))), include };
    }),
    search: answering(async (bytes, context) => {
      const asked = await read('grpcSearch', bytes, callEnd(context));
      const { includes } = asked;
      const found = await points.search(asked, true, unionOf(includes), callEnd(context));
      return { found, includes };
    }),
    scroll: answering(async (bytes, context) => {
      const { include, ...asked } = await read('grpcScroll', bytes, callEnd(context));
      const request = { ...asked, include: includeOf(include) };
      return { ...(await points.scroll(request, callEnd(context))), include };
    }),
    scrollStream: answeringAll(async function* scrollStream(bytes, context) {
      const { include, ...asked } = await read('grpcScrollStream', bytes, callEnd(context));
      const request = { ...asked, limit: STREAM_POINTS, include: includeOf(include) };
      const end = new StreamEnd(context.signal);
      let { after } = request;
      do {
        const page = { ...request, after, maxBytes: STREAM_BYTES };
        // oxlint-disable-next-line no-await-in-loop -- each page begins where the last one ends
        const { records, next } = await points.scroll(page, end.next());
        yield { records, next, include };
        after = next;
      } while (after !== undefined);
    }),
    count: answering(async (bytes, context) => {
      const { filter } = await read('grpcCount', bytes, callEnd(context));
      return { count: BigInt(await points.count(filter, callEnd(context))) };
    }),
    info: answering(async (bytes, context) => {
      await read('grpcInfo', bytes, callEnd(context));
      return await info();
    }),
  };
}
