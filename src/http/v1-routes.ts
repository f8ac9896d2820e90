import { includeOf, unionOf } from '../core/include.js';
import { bytesOf } from '../core/records.js';
import { writeInfo } from '../wire/json/write-info.js';
import {
  writeChanged,
  writeFound,
  writeGot,
  writePage,
  writeUpserted,
} from '../wire/json/write-points.js';
import type { Access } from './auth.js';
import type { Context } from './context.js';
import type { HttpOptions } from './options.js';
import { endOf, requestReader } from './read-request.js';
import { answerChunks, answerJson } from './reply.js';
import { reservationOf } from './reservation.js';
import type { Route } from './router.js';

/** The routes of `/v1`. */
export function v1Routes(options: HttpOptions): readonly Route[] {
  const { points, info, inflight } = options;
  const read = requestReader(options);
  /** Records may be far larger than what asks for them: as long as they are kept, they count. */
  const reserve = <Kept extends object>(ctx: Context, kept: Kept): Kept => {
    reservationOf(ctx, inflight).take(bytesOf(kept));
    return kept;
  };

  return [
    post('upsert', 'readwrite', async (ctx) => {
      const batch = await read(ctx, 'httpUpsert');
      const counts = await points.upsert(batch, batch.keeps);
      answerChunks(ctx, writeUpserted(batch.ids, counts));
    }),
    post('update', 'readwrite', async (ctx) => {
      const changed = await points.update(await read(ctx, 'httpUpdate'));
      answerChunks(ctx, writeChanged('updated', changed));
    }),
    post('delete', 'readwrite', async (ctx) => {
      const changed = await points.delete(await read(ctx, 'httpDelete'));
      answerChunks(ctx, writeChanged('deleted', changed));
    }),
    post('get', 'readonly', async (ctx) => {
      const { ids, include, base64 } = await read(ctx, 'httpGet');
      const { records, missing } = await points.get(ids, includeOf(include), endOf(ctx));
      answerChunks(ctx, writeGot(reserve(ctx, records), missing, { include, base64 }));
    }),
    post('search', 'readonly', async (ctx) => {
      const asked = await read(ctx, 'httpSearch');
      const { includes, isList } = asked;
      // What one query wants is read for all; each is answered what it asks for.
      const found = await points.search(asked, isList, unionOf(includes), endOf(ctx));
      reserve(ctx, found.records);
      answerChunks(ctx, writeFound(found, asked));
    }),
    post('scroll', 'readonly', async (ctx) => {
      const { include, base64, ...asked } = await read(ctx, 'httpScroll');
      const page = await points.scroll({ ...asked, include: includeOf(include) }, endOf(ctx));
      const { records, next } = page;
      answerChunks(ctx, writePage(reserve(ctx, records), next, { include, base64 }));
    }),
    post('count', 'readonly', async (ctx) => {
      const { filter } = await read(ctx, 'httpCount');
      const count = await points.count(filter, endOf(ctx));
      answerJson(ctx, 200, JSON.stringify({ count }));
    }),
    {
      method: 'GET',
      path: '/v1/info',
      access: 'readonly',
      async handle(ctx) {
        answerJson(ctx, 200, writeInfo(await info()));
      },
    },
  ];
}

function post(operation: string, access: Access, handle: Route['handle']): Route {
  return { method: 'POST', path: `/v1/points/${operation}`, access, handle };
}
