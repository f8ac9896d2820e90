import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Context } from './context.js';
import { answerError } from './reply.js';

export type Next = () => Promise<void>;

/** Turns whatever happens further in into an answer, and writes one line about it to the log. */
export async function answerAndLog(ctx: Context, next: Next, logger: Logger): Promise<void> {
  const startMs = performance.now();
  const requestId = randomUUID();
  ctx.state.requestId = requestId;
  ctx.state.route = 'none';
  ctx.set('x-request-id', requestId);
  let failure: unknown;
  try {
    await next();
  } catch (error) {
    failure = error;
    answerError(ctx, error);
  }
  const line = {
    requestId,
    method: ctx.method,
    route: ctx.state.route,
    status: ctx.status,
    durationMs: Math.round((performance.now() - startMs) * 1000) / 1000,
  };
  if (ctx.status >= 500) logger.warn({ ...line, err: failure }, 'http request failed');
  else logger.debug(line, 'http request');
}
