import Router from '@koa/router';
import { VectordError } from '../core/errors.js';
import { nearest } from '../core/nearest.js';
import type { Keys } from '../auth/keys.js';
import { authenticateScraper, authorize, type Access } from './auth.js';
import { noteWrite } from './connections.js';
import type { Context, RequestState } from './context.js';
import { isBelowV1 } from './path.js';

const CONSOLE = '/console';

/** One row of the table of routes: there is no route without a word on who may use it. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly access: Access;
  readonly handle: (ctx: Context) => Promise<void> | void;
}

/** A router of exactly these routes; a method that a path does not have is refused with 405. */
export function createRouter(table: readonly Route[], keys: Keys): Router<RequestState> {
  const router = new Router<RequestState>({ sensitive: true, strict: true });
  for (const path of new Set(table.map((route) => route.path))) {
    const routesOfPath = table.filter((route) => route.path === path);
    for (const { method, access, handle } of routesOfPath) {
      router.register(path, [method], async (ctx: Context) => {
        ctx.state.route = path;
        // Below /points and /v1 the key has been checked before the route was looked for.
        if (access !== 'open') ctx.state.role ??= authenticateScraper(ctx.req, keys);
        authorize(ctx.state.role, access);
        if (access === 'readwrite') noteWrite(ctx.req.socket);
        await handle(ctx);
      });
    }
    // After the path's own methods and before the next path: /points/search is no id.
    const allow = allowedMethods(routesOfPath);
    router.all(path, (ctx: Context) => {
      ctx.state.route = path;
      ctx.set('Allow', allow);
      throw new VectordError(
        'METHOD_NOT_ALLOWED',
        `${ctx.method} is not possible here, expected one of: ${allow}`,
      );
    });
  }
  return router;
}

/** Of so many letters one may be another one, and no more than three in all. */
const LETTERS_PER_EDIT = 5;
const MOST_EDITS = 3;

/** The refusal of a path that is none of these routes. It names the nearest, and where all are listed. */
export function notFound(path: string, table: readonly Route[]): VectordError {
  const paths = table.map((route) => route.path).filter((known) => !known.includes(':'));
  const given = path.replace(/\/+$/, '');
  const mostEdits = Math.min(MOST_EDITS, Math.floor(given.length / LETTERS_PER_EDIT));
  const operation = isBelowV1(path) ? paths.find((known) => isOperation(known, given)) : undefined;
  const meant = nearest(given, paths, mostEdits) ?? operation;
  const method = table.find((route) => route.path === meant)?.method;
  const question = meant === undefined || meant === '/' ? '' : `: is ${method} ${meant} meant?`;
  const pages = ['/docs/openapi.yaml has all paths'];
  if (paths.includes(CONSOLE)) pages.push(`${CONSOLE} is for people`);
  return new VectordError(
    'NOT_FOUND',
    `There is nothing at this path${question || '.'} ${pages.join(', ')}.`,
  );
}

/** Whether a path ends with the name of this operation of `/v1`. */
function isOperation(known: string, path: string): boolean {
  return (
    isBelowV1(known) && path.slice(path.lastIndexOf('/')) === known.slice(known.lastIndexOf('/'))
  );
}

/** The methods of the routes of one path. */
export function allowedMethods(routes: readonly Route[]): string {
  return routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
}
