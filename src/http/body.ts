import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { parse } from 'content-type';
import type { Clock } from '../core/clock.js';
import { VectordError, invalid } from '../core/errors.js';
import type { MemoryBudget } from '../admission/memory-budget.js';
import type { Limits } from '../core/limits.js';
import { failWhenSlow } from '../admission/min-data-rate.js';
import { BodyBytes } from './body-bytes.js';
import type { Context } from './context.js';
import { onRequestEnd } from './request-end.js';
import { reservationOf } from './reservation.js';

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/**
 * Reads the body of a request, which is to be JSON. What its headers tell is checked before a byte
 * of it is read; its bytes are counted as they arrive, after decompression, against the limit of
 * one request and the limit of all, until the request has been answered.
 */
export async function readBody(
  ctx: Context,
  limits: Limits,
  inflight: MemoryBudget,
  clock: Clock,
): Promise<Buffer> {
  const { req, res } = ctx;
  const reservation = reservationOf(ctx, inflight);
  const declaredBytes = Number(req.headers['content-length'] ?? 0);
  checkSize(declaredBytes, limits);
  checkContentType(req.headers['content-type']);
  const decoder = decoderFor(req.headers['content-encoding']);

  // What is only announced takes nothing: else a few idle clients would be refusing all others.
  inflight.check(declaredBytes);
  const take = (bytes: number): void => {
    checkSize(reservation.bytes + bytes, limits);
    reservation.take(bytes);
  };
  if (req.headers.expect !== undefined && req.httpVersion === '1.1') res.writeContinue();
  return await collect(ctx, decoder?.(), take, clock);
}

function checkSize(bytes: number, { maxRequestBytes }: Limits): void {
  if (bytes <= maxRequestBytes) return;
  throw new VectordError(
    'TOO_LARGE',
    `The body has more than the ${maxRequestBytes} bytes that are allowed (MAX_REQUEST_BYTES)`,
  );
}

function checkContentType(header: string | undefined): void {
  if (header === undefined || header === 'application/json') return;
  const { type, parameters } = parse(header);
  const charset = parameters['charset'] ?? 'utf-8';
  const isJson = type === 'application/json' || /^application\/[^\s/]+\+json$/.test(type);
  if (isJson && /^utf-?8$/i.test(charset)) return;
  const hint =
    type === 'application/x-www-form-urlencoded'
      ? "; curl sends that type unless told otherwise: add -H 'content-type: application/json'"
      : '';
  throw new VectordError(
    'UNSUPPORTED_MEDIA_TYPE',
    `The Content-Type is ${header}, expected application/json in UTF-8${hint}`,
  );
}

function decoderFor(header: string | undefined): (() => Transform) | undefined {
  const encoding = (header ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') return undefined;
  const decoder = DECODERS.get(encoding);
  if (decoder !== undefined) return decoder;
  throw new VectordError(
    'UNSUPPORTED_MEDIA_TYPE',
    `The Content-Encoding is ${header}, expected gzip, deflate, br or none`,
  );
}

function tooSlow(): VectordError {
  return new VectordError('TIMEOUT', 'The body did not arrive in time');
}

/**
 * All bytes of the body, decoded. The request itself is never destroyed, as the connection has to
 * carry the answer; `take` is told of the bytes of each chunk and ends the reading by throwing.
 */
function collect(
  { req: request, res: response }: Context,
  decoder: Transform | undefined,
  take: (bytes: number) => void,
  clock: Clock,
): Promise<Buffer> {
  const source = decoder === undefined ? request : request.pipe(decoder);
  return new Promise<Buffer>((resolve, reject) => {
    const body = new BodyBytes();
    let isOver = false;
    const end = (): void => {
      isOver = true;
      stopChecking();
      source.off('data', add);
      if (decoder !== undefined) {
        request.unpipe(decoder);
        decoder.destroy();
      }
      // What is left of the body, after a refusal or the end of compressed data, is in the way of
      // the next request: it is read and dropped.
      if (!request.readableEnded) request.resume();
    };
    const fail = (error: unknown): void => {
      if (isOver) return;
      end();
      reject(error);
    };
    const stopChecking = failWhenSlow(
      () => body.length,
      () => fail(tooSlow()),
      clock,
    );
    const add = (chunk: Buffer): void => {
      try {
        take(chunk.length);
        body.add(chunk);
      } catch (error) {
        fail(error);
      }
    };
    source.on('data', add);
    source.once('end', () => {
      if (isOver) return;
      end();
      resolve(body.all());
    });
    // Also when all of it has arrived: what is still being decompressed is of no use to anyone.
    onRequestEnd(response, () => {
      // An error takes longer to make than the rest of this.
      if (!isOver) fail(invalid('The body was cut off'));
    });
    decoder?.once('error', (error) => {
      fail(invalid(`The body cannot be decompressed: ${error.message}`));
    });
  });
}
