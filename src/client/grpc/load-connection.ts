import { createRequire } from 'node:module';
import type { Connection, GrpcOptions } from './connection.js';

/**
 * Loads the library of gRPC. It is CommonJS: where a bundler has put it into an ES module, it asks a
 * global `require` for the modules of Node.js, and there is one while it is loaded.
 */
export async function loadConnection(options: GrpcOptions): Promise<Connection> {
  const globals: { require?: unknown } = globalThis;
  const isMissing = globals.require === undefined;
  if (isMissing) globals.require = createRequire(process.execPath);
  try {
    const { openConnection } = await import('./connection.js');
    return openConnection(options);
  } finally {
    if (isMissing) delete globals.require;
  }
}
