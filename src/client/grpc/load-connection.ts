import { InvalidArgumentError } from '../errors.js';
import type { Connection, GrpcOptions } from './connection.js';

/**
 * Loads the library of gRPC, which is CommonJS: a bundle for Node.js as an ES module that has it inside
 * cannot run it, and has to run where the address is one of HTTP.
 */
export async function loadConnection(options: GrpcOptions): Promise<Connection> {
  const { openConnection } = await import('./connection.js').catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const expected = 'an address over http://, or a bundle without vectord (--external:vectord)';
    throw new InvalidArgumentError(`gRPC cannot be loaded (${reason}), expected ${expected}`, {
      cause,
    });
  });
  return openConnection(options);
}
