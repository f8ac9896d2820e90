import Router from '@koa/router';
import { VectordError } from '../core/errors.js';
import type { Keys } from '../auth/keys.js';
import { authenticateScraper, authorize, type Access } from './auth.js';
import { noteWrite } from './connections.js';
import type { Context, RequestState } from './context.js';

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

export function notFound(): VectordError {
  return new VectordError('NOT_FOUND', 'There is nothing at this path');
}

/** The methods of the routes of one path. */
export function allowedMethods(routes: readonly Route[]): string {
  return routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
}
