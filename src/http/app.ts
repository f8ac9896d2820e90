import Koa from 'koa';
import { invalid } from '../core/errors.js';
import { messageOf } from '../core/start-error.js';
import { answerAndNote, type Next } from './answer-and-note.js';
import { authenticate } from './auth.js';
import { consoleRoutes } from './console-routes.js';
import { cors, tellRefusedOrigins } from './cors.js';
import type { Context, RequestState } from './context.js';
import { needsKey, isPlain, pathOf } from './path.js';
import { createRouter, notFound } from './router.js';
import { routes } from './routes.js';
import { v1Routes } from './v1-routes.js';
import type { HttpOptions } from './options.js';

/**
 * The steps of every request, in the order in which they may refuse it: key, route, role, and
 * then what the route's handler checks: size and body.
 */
export function createApp(options: HttpOptions): Koa<RequestState> {
  const { keys, logger, clock, corsOrigins } = options;
  const table = [...routes(options), ...v1Routes(options), ...consoleRoutes(options)];
  const app = new Koa<RequestState>({ proxy: false });
  // Errors of a request are answered below: what arrives here is a connection that broke.
  app.on('error', (error: unknown) => {
    logger.debug({ reason: messageOf(error) }, 'http connection broke');
  });
  app.use(answerAndNote(options.requests, clock));
  app.use(checkProtocol);
  app.use(tellRefusedOrigins(corsOrigins, logger, clock));
  if (corsOrigins.length > 0) app.use(cors(corsOrigins, table));
  app.use(async (ctx: Context, next) => {
    const path = pathOf(ctx.req.url ?? '');
    if (needsKey(path)) ctx.state.role = authenticate(ctx.req, keys);
    if (!isPlain(path)) throw notFound('', table);
    // From here on there is no other path to look at, and no query string.
    ctx.url = path;
    await next();
  });
  app.use(createRouter(table, keys).routes());
  app.use(({ url }: Context) => {
    throw notFound(url, table);
  });
  return app;
}

/** Refuses what node lets pass, and HTTP/1.1 does not. */
async function checkProtocol(ctx: Context, next: Next): Promise<void> {
  const { httpVersion, headers, rawHeaders } = ctx.req;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    throw invalid(`The version of HTTP is ${httpVersion}, expected 1.1 or 1.0`);
  }
  const hosts = rawHeaders.filter(isHost).length;
  if (hosts > 1) throw invalid('The Host header is given more than once');
  if (httpVersion === '1.1' && hosts === 0) {
    throw invalid('The Host header is missing, which HTTP/1.1 requires');
  }
  const coding = headers['transfer-encoding'];
  if (coding === undefined || coding.trim().toLowerCase() === 'chunked') await next();
  else refuseCoding(ctx, coding);
}

/** Of raw headers, in which names and values take turns. */
function isHost(name: string, at: number): boolean {
  return at % 2 === 0 && /^host$/i.test(name);
}

/** The body cannot be read, nor where the next request begins. */
function refuseCoding(ctx: Context, coding: string): void {
  ctx.status = 501;
  ctx.set('Connection', 'close');
  ctx.body = `The Transfer-Encoding is ${coding}, expected chunked`;
}
