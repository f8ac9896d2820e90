import { STATUS_CODES, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../core/clock.js';
import { VectordError } from '../core/errors.js';
import { closeConnection } from './connections.js';
import type { Context } from './context.js';
import { isBelowV1, pathOf } from './path.js';
import type { LargeJson } from '../wire/json/write-ids.js';

const TEXT = 'text/plain; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';
const PROBLEM_TYPE = 'application/problem+json';

/** How long the rest of a body is read and dropped after its request has been refused. */
export const DRAIN_MS = 5_000;

/** Each chunk takes the loop about half a microsecond: a body in chunks of a byte is no upload. */
const MAX_DRAIN_CHUNKS = 10_000;

export function answerText(ctx: Context, status: number, text: string): void {
  answer(ctx, status, TEXT, text);
}

export function answerJson(ctx: Context, status: number, json: string | Buffer): void {
  answer(ctx, status, JSON_TYPE, json);
}

/** Answers with ids: long lists are written only as fast as the client reads them. */
export function answerIds(ctx: Context, status: number, json: Buffer | LargeJson): void {
  if (Buffer.isBuffer(json)) {
    answerJson(ctx, status, json);
    return;
  }
  answer(ctx, status, JSON_TYPE, Readable.from(unhurried(json.chunks)));
  ctx.length = json.length;
}

/** Answers 200 with a text: one of several chunks is written as fast as the client reads it. */
export function answerChunks(ctx: Context, chunks: Iterable<Buffer>): void {
  const iterator = chunks[Symbol.iterator]();
  const [first, second] = [iterator.next(), iterator.next()];
  if (first.done === true || second.done === true) {
    answerJson(ctx, 200, first.value ?? '');
    return;
  }
  const rest = { [Symbol.iterator]: () => iterator };
  answer(ctx, 200, JSON_TYPE, Readable.from(unhurried([first.value, second.value], rest)));
}

/** Lets other requests have their turn before each chunk. */
async function* unhurried(...parts: Iterable<Buffer>[]): AsyncGenerator<Buffer> {
  for (const chunks of parts) {
    for (const chunk of chunks) {
      yield chunk;
      // oxlint-disable-next-line no-await-in-loop -- the wait is what the loop is for
      await setImmediate();
    }
  }
}

/**
 * Answers a failure, below `/v1` as a problem (RFC 9457), elsewhere as text; one that is not meant
 * for the client only by the request's id.
 */
export function answerError(ctx: Context, error: unknown, clock: Clock): void {
  const known = error instanceof VectordError && error.code !== 'INTERNAL' ? error : undefined;
  if (known?.retryAfterS !== undefined) ctx.set('Retry-After', String(known.retryAfterS));
  const status = known?.httpStatus ?? 500;
  const detail = known?.message ?? `Internal server error (request ${ctx.state.requestId})`;
  if (isBelowV1(pathOf(ctx.req.url ?? ''))) {
    const { code } = known ?? { code: 'INTERNAL' };
    const title = STATUS_CODES[status];
    const problem = JSON.stringify({ type: 'about:blank', title, status, detail, code });
    answer(ctx, status, PROBLEM_TYPE, problem);
  } else answerText(ctx, status, detail);
  boundDrain(ctx.req, clock);
}

/**
 * Cuts off a client that goes on sending. Until then node reads the rest of the body and drops
 * it: a connection that is closed while its client still sends is reset, and the client would lose
 * the answer that says why.
 */
function boundDrain(request: IncomingMessage, clock: Clock): void {
  if (request.complete) return;
  let chunks = 0;
  request.on('data', () => {
    chunks += 1;
    if (chunks === MAX_DRAIN_CHUNKS) closeConnection(request.socket, 'tiny_chunks');
  });
  const stopWaiting = clock.after(DRAIN_MS, () => {
    if (!request.complete) cut(request);
  });
  request.once('close', stopWaiting);
}

function cut(request: IncomingMessage): void {
  closeConnection(request.socket, 'timeout');
  request.destroy();
}

function answer(
  ctx: Context,
  status: number,
  type: string,
  body: string | Buffer | Readable,
): void {
  ctx.status = status;
  ctx.set('Content-Type', type);
  ctx.body = body;
}
