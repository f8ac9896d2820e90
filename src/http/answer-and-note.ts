import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Clock } from '../core/clock.js';
import type { Requests } from '../observe/requests.js';
import type { Context } from './context.js';
import { HttpOperations } from './operations.js';
import { pathOf } from './path.js';
import { answerError } from './reply.js';
import { onRequestEnd } from './request-end.js';

export type Next = () => Promise<void>;

/**
 * The outermost step of every request: turns whatever happens further in into an answer, and notes
 * how it ended. The name of a request is ours alone: one that a client chose could come twice, or
 * lie in the log.
 */
export function answerAndNote(requests: Requests, clock: Clock) {
  const operations = new HttpOperations(requests);
  return async (ctx: Context, next: Next): Promise<void> => {
    const startedAtMs = requests.begin();
    const trace = requests.beginTrace(ctx.req.headers, pathOf(ctx.req.url ?? ''));
    const requestId = randomUUID();
    const { state } = ctx;
    state.requestId = requestId;
    state.route = 'none';
    ctx.set('x-request-id', requestId);
    let failure: unknown;
    try {
      await (trace === undefined ? next() : trace.run(next));
    } catch (error) {
      failure = error;
      answerError(ctx, error, clock);
    }
    const { status } = ctx;
    const operation = operations.of(ctx.method, state.route);
    const bytes = state.bodyBytes ?? state.reservation?.bytes ?? 0;
    const ended = { operation, startedAtMs, requestId, asked: state.asked, bytes, failure, trace };
    // A 503 of /ready is an answer like any other.
    const isFault = failure !== undefined && status >= 500;
    const end = (): void => requests.end(ended, status, isFault);
    // A long answer goes on for as long as its client takes to read it.
    if (ctx.body instanceof Readable) onRequestEnd(ctx.res, end);
    else end();
  };
}
