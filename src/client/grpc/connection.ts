// All of the client that needs nice-grpc: `loadConnection` loads it, for addresses of gRPC alone.
import { createClient, Metadata, type Client } from 'nice-grpc';
import { openChannel } from './channel.js';
import type { Certificates } from './credentials.js';
import { pointsServiceDefinition } from './definition.js';
import { failureOf } from './failure.js';

export interface GrpcOptions {
  /** `host:port`. */
  readonly target: string;
  readonly key: string | undefined;
  /** undefined: without TLS. */
  readonly tls: Certificates | undefined;
  /** Whether a call ends where the service is frozen meanwhile: another one may answer it. */
  readonly isWatched: boolean;
}

export interface Connection {
  readonly client: Client<typeof pointsServiceDefinition>;
  readonly failureOf: typeof failureOf;
  close(): void;
}

/** Connects with the first call. */
export function openConnection({ target, key, tls, isWatched }: GrpcOptions): Connection {
  const channel = openChannel(target, tls, isWatched);
  const metadata = new Metadata(key === undefined ? {} : { authorization: key });
  const client = createClient(pointsServiceDefinition, channel, { '*': { metadata } });
  return { client, failureOf, close: () => channel.close() };
}
