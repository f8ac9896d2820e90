import * as answers from '../client/grpc/answers.js';
import * as points from '../client/grpc/read-points.js';
import * as requests from '../client/grpc/requests.js';
import { onAbort } from '../client/on-abort.js';
import type { Attempt, FullScroll, Transport } from '../client/transport.js';
import { VectordError } from '../core/errors.js';
import { includeOf, unionOf } from '../core/include.js';
import type { PointsService } from '../core/points-service.js';
import type { OnRequestEnd } from '../core/request-end.js';
import type { Rules } from '../core/rules.js';
import { CountResponse } from '../gen/vectord/v1/points.js';
import type { Info } from '../observe/info.js';
import { PARSERS } from '../wire/parsers.js';
import * as write from '../wire/protobuf/v1/write-answers.js';
import { writeInfo } from '../wire/protobuf/v1/write-info.js';
import { failureOf } from './failure.js';

/** A page of a scroll that goes on holds so many points at most, and so many bytes. */
const PAGE_POINTS = 1_024;
const PAGE_BYTES = 1024 * 1024;

const NOTHING = new Uint8Array();

/** How a request is answered: each of these functions is one that the service uses as well. */
interface Call<Asked, Answer> {
  readonly parse: (bytes: Uint8Array, rules: Rules, maxFields: number) => Asked;
  readonly answer: (asked: Asked, onRequestEnd: OnRequestEnd) => Promise<{ finish(): Uint8Array }>;
  readonly read: (bytes: Uint8Array) => Answer;
}

/**
 * The operations on an engine of this process. Requests and answers are messages of vectord.v1, as over
 * gRPC, so that the rules, limits and errors are those of the service; they only go over no connection.
 */
export function engineTransport(service: PointsService, info: () => Promise<Info>): Transport {
  const { rules } = service;
  const call = <Asked, Answer>(
    request: Uint8Array,
    { parse, answer, read }: Call<Asked, Answer>,
  ): Attempt<Answer> => {
    return async (signal) =>
      await withEnd(signal, async (onRequestEnd) => {
        checkSize(request, rules);
        const message = await answer(parse(request, rules, Infinity), onRequestEnd);
        return read(message.finish());
      });
  };
  const search = (bytes: Uint8Array, includes: Parameters<typeof points.readFound>[1]) =>
    call(bytes, {
      parse: PARSERS.grpcSearch,
      answer: async (asked, onRequestEnd) => {
        const include = unionOf(asked.includes);
        const found = await service.search(asked, true, include, onRequestEnd);
        return write.writeFound({ found, includes: asked.includes });
      },
      read: (answer) => points.readFound(answer, includes),
    });
  const scroll = (asked: FullScroll, limit: number, maxBytes = Infinity) =>
    call(requests.scrollRequest(asked, limit), {
      parse: PARSERS.grpcScroll,
      answer: async ({ include, ...page }, onRequestEnd) => {
        const request = { ...page, include: includeOf(include), maxBytes };
        return write.writePage({ ...(await service.scroll(request, onRequestEnd)), include });
      },
      read: (answer) => points.readPage(answer, asked.include),
    });
  const remove = (bytes: Uint8Array) =>
    call(bytes, {
      parse: PARSERS.grpcDelete,
      answer: async (asked) => write.writeChanged(await service.delete(asked)),
      read: answers.readDeleted,
    });
  return {
    encode: requests.encodePoint,
    upsert: (encoded, ifAbsent) =>
      call(requests.upsertRequest(encoded, ifAbsent), {
        parse: PARSERS.grpcUpsert,
        answer: async (batch) => {
          const counts = await service.upsert(batch, batch.keeps);
          return write.writeUpserted({ ids: batch.ids, ...counts });
        },
        read: answers.readUpserted,
      }),
    get: (ids, include) =>
      call(requests.getRequest(ids, include), {
        parse: PARSERS.grpcGet,
        answer: async (asked, onRequestEnd) => {
          const got = await service.get(asked.ids, includeOf(asked.include), onRequestEnd);
          return write.writeGot({ ...got, include: asked.include });
        },
        read: (answer) => points.readGot(answer, include),
      }),
    search: (query) => {
      const attempt = search(requests.searchRequest([query]), [query.include]);
      return async (signal) => (await attempt(signal))[0] ?? [];
    },
    searchAll: (queries) =>
      search(
        requests.searchRequest(queries),
        queries.map(({ include }) => include),
      ),
    scroll,
    pages: (asked) => ({
      next: (after) => scroll({ ...asked, after }, PAGE_POINTS, PAGE_BYTES),
      close: () => {},
    }),
    count: (filter) =>
      call(requests.countRequest(filter), {
        parse: PARSERS.grpcCount,
        answer: async (asked, onRequestEnd) => {
          const count = await service.count(asked.filter, onRequestEnd);
          return CountResponse.encode({ count: BigInt(count) });
        },
        read: answers.readCount,
      }),
    delete: (ids) => remove(requests.deleteRequest(ids)),
    deleteMatching: (filter) => remove(requests.deleteMatchingRequest(filter)),
    deleteAll: (confirm) => remove(requests.deleteAllRequest(confirm)),
    update: (updates) =>
      call(requests.updateRequest(updates), {
        parse: PARSERS.grpcUpdate,
        answer: async (batch) => write.writeChanged(await service.update(batch)),
        read: answers.readUpdated,
      }),
    info: () =>
      call(NOTHING, {
        parse: PARSERS.grpcInfo,
        answer: async () => writeInfo(await info()),
        read: answers.readInfo,
      }),
    close: () => {},
  };
}

/** Runs a call that is given up once the signal is aborted. */
async function withEnd<Answer>(
  signal: AbortSignal,
  run: (onRequestEnd: OnRequestEnd) => Promise<Answer>,
): Promise<Answer> {
  const endings: (() => void)[] = [];
  const onRequestEnd: OnRequestEnd = (listener) => {
    const stopListening = onAbort(signal, listener);
    endings.push(stopListening, listener);
  };
  try {
    return await run(onRequestEnd);
  } catch (error) {
    signal.throwIfAborted();
    throw failureOf(error);
  } finally {
    for (const end of endings) end();
  }
}

function checkSize({ length }: Uint8Array, { limits: { maxRequestBytes } }: Rules): void {
  if (length <= maxRequestBytes) return;
  throw new VectordError(
    'TOO_LARGE',
    `the request has ${length} bytes, at most ${maxRequestBytes} are allowed (MAX_REQUEST_BYTES)`,
  );
}
