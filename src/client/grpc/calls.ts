import type { CallOptions, Client, Metadata } from 'nice-grpc';
import type { Attempt } from '../transport.js';
import type { pointsServiceDefinition } from './definition.js';
import { failureOf } from './failure.js';

export type PointsServiceClient = Client<typeof pointsServiceDefinition>;

type Send = (request: Uint8Array, options: CallOptions) => Promise<Uint8Array>;

/** A call of one request and one answer, which `read` reads. */
export function unary<Answer>(
  send: Send,
  request: Uint8Array,
  read: (bytes: Uint8Array) => Answer,
): Attempt<Answer> {
  return async (signal) => {
    let trailer: Metadata | undefined;
    const onTrailer = (metadata: Metadata): void => void (trailer = metadata);
    let answer: Uint8Array;
    try {
      answer = await send(request, { signal, onTrailer });
    } catch (error) {
      signal.throwIfAborted();
      throw failureOf(error, trailer);
    }
    return read(answer);
  };
}
