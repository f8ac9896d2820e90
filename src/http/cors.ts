import type { Clock } from '../core/clock.js';
import { LogRateLimit } from '../observe/log-rate-limit.js';
import type { Logger } from '../observe/logger.js';
import type { Next } from './answer-and-note.js';
import type { Context } from './context.js';
import { pathOf } from './path.js';
import { allowedMethods, type Route } from './router.js';

/** What a browser may send and read besides the few headers that need no leave. */
const REQUEST_HEADERS = 'api-key, authorization, content-type';
const EXPOSED_HEADERS = 'x-request-id, retry-after';

/** How long a browser may remember the answer: as long as any of them does. */
const MAX_AGE_S = '7200';

export const ANY_ORIGIN = '*';

/** Of an origin, which may have any length, the log shows so many characters. */
const LONGEST_SHOWN = 200;

/**
 * Lets pages of these origins use the interface from a browser, which asks before it sends a key.
 * That question has no key, and its answer says the same to everyone.
 */
export function cors(origins: readonly string[], table: readonly Route[]) {
  const isOpen = origins.includes(ANY_ORIGIN);
  const methodsByPath = table.map(({ path }) => {
    const ofPath = table.filter((route) => route.path === path);
    return [pattern(path), allowedMethods(ofPath)] as const;
  });
  return async (ctx: Context, next: Next): Promise<void> => {
    if (!isOpen) ctx.vary('Origin');
    const { origin } = ctx.req.headers;
    if (origin === undefined || !(isOpen || origins.includes(origin))) {
      await next();
      return;
    }
    ctx.set('Access-Control-Allow-Origin', isOpen ? ANY_ORIGIN : origin);
    ctx.set('Access-Control-Expose-Headers', EXPOSED_HEADERS);
    const asked = ctx.method === 'OPTIONS' && ctx.req.headers['access-control-request-method'];
    const path = pathOf(ctx.req.url ?? '');
    const [, methods] = methodsByPath.find(([known]) => known.test(path)) ?? [];
    if (asked === false || asked === undefined || methods === undefined) {
      await next();
      return;
    }
    ctx.set('Access-Control-Allow-Methods', methods);
    ctx.set('Access-Control-Allow-Headers', REQUEST_HEADERS);
    ctx.set('Access-Control-Max-Age', MAX_AGE_S);
    ctx.status = 204;
  };
}

/** Tells the log of pages that are not let in: browsers say no more than that they failed. */
export function tellRefusedOrigins(origins: readonly string[], logger: Logger, clock: Clock) {
  const lines = new LogRateLimit(clock);
  return async ({ req }: Context, next: Next): Promise<void> => {
    const { origin, host } = req.headers;
    if (origin !== undefined && ![ANY_ORIGIN, origin].some((one) => origins.includes(one))) {
      // A page of the service itself, such as the console, needs no leave.
      const isOwn = [`http://${host}`, `https://${host}`].includes(origin);
      const leftOut = isOwn ? undefined : lines.next();
      if (leftOut !== undefined) {
        const shown = origin.slice(0, LONGEST_SHOWN);
        logger.warn(
          { origin: shown, ...leftOut },
          'CORS_ORIGINS does not name the origin of a page',
        );
      }
    }
    await next();
  };
}

/** A path with the names of its parameters, as an expression for paths. */
function pattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/:[a-z]+/g, '[a-zA-Z0-9._-]+')}$`);
}
