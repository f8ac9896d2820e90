// All of the client that needs nice-grpc: `loadConnection` loads it, for addresses of gRPC alone.
import { createClient, Metadata, type Client } from 'nice-grpc';
import { ofKey } from '../errors.js';
import { openChannel, type ChannelSettings } from './channel.js';
import { pointsServiceDefinition } from './definition.js';
import { failureOf } from './failure.js';
import { proxyTo } from './proxy.js';

export interface GrpcOptions extends Omit<ChannelSettings, 'hasProxy'> {
  readonly key: string | undefined;
}

export interface Connection {
  readonly client: Client<typeof pointsServiceDefinition>;
  /** The failure of a call with this trailing metadata, if any has come. */
  failureOf(error: unknown, trailer: Metadata | undefined): unknown;
  close(): void;
}

/** Connects with the first call. */
export function openConnection({ key, ...settings }: GrpcOptions): Connection {
  const proxy = proxyTo(settings.target);
  const channel = openChannel({ ...settings, hasProxy: proxy !== undefined });
  const metadata = new Metadata(key === undefined ? {} : { authorization: key });
  const client = createClient(pointsServiceDefinition, channel, { '*': { metadata } });
  return {
    client,
    failureOf: (error, trailer) => ofKey(failureOf(error, trailer, proxy), key),
    close: () => channel.close(),
  };
}
