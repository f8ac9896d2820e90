import type { Metadata } from 'nice-grpc';
import type { Attempt } from '../transport.js';
import type { Connection } from './connection.js';

/** A method of one request and one answer. */
export type Unary = Exclude<keyof Connection['client'], 'scrollStream'>;

/** A call of one request and one answer, which `read` reads. */
export function unary<Answer>(
  connection: Promise<Connection>,
  method: Unary,
  request: Uint8Array,
  read: (bytes: Uint8Array) => Answer,
): Attempt<Answer> {
  return async (signal) => {
    const { client, failureOf } = await connection;
    let trailer: Metadata | undefined;
    const onTrailer = (metadata: Metadata): void => void (trailer = metadata);
    let answer: Uint8Array;
    try {
      answer = await client[method](request, { signal, onTrailer });
    } catch (error) {
      signal.throwIfAborted();
      throw failureOf(error, trailer);
    }
    return read(answer);
  };
}
