import { isIPv6, type Socket } from 'node:net';
import type { Handshakes } from '../admission/handshakes.js';
import type { IsTrusted } from '../admission/trusted-proxies.js';
import { listen } from '../admission/listener.js';
import type { MemoryBudget } from '../admission/memory-budget.js';
import type { Keys } from '../auth/keys.js';
import type { Clock } from '../core/clock.js';
import type { Service } from '../core/service.js';
import { HealthDefinition } from '../gen/grpc/health/v1/health.js';
import type { ObservedInterface } from '../observe/metrics.js';
import type { Decoder } from '../wire/decoder.js';
import { Connections } from './connections.js';
import { vectorDbDefinition } from './definition.js';
import { Gate } from './gate.js';
import { vectorDbHandlers } from './handlers.js';
import { Health } from './health.js';
import { reflection, reflectionDefinitions } from './reflection.js';
import { TransportServer } from './transport/server.js';

export interface GrpcOptions extends ObservedInterface {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Connections at one time; others are closed at once, unless one can be evicted. */
  readonly maxConnections: number;
  readonly service: Service;
  readonly decoder: Decoder;
  readonly keys: Keys;
  readonly inflight: MemoryBudget;
  readonly clock: Clock;
  /** Those of TLS, where it is on. */
  readonly handshakes: Handshakes | undefined;
  /** Whether a connection may carry many clients. */
  readonly isTrusted: IsTrusted;
  /** Whether tools may ask which services and messages there are. */
  readonly reflection: boolean;
}

export interface GrpcServer {
  readonly port: number;
  /** host:port, an IPv6 host in brackets. */
  readonly address: string;
  /** Takes no new calls, answers what is under way, and cuts what is left after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Starts the gRPC interface; resolves once it listens, rejects when it cannot. */
export async function startGrpc(options: GrpcOptions): Promise<GrpcServer> {
  const { service, maxConnections, connectionStats, clock } = options;
  const { rules } = service;
  const { handshakes, isTrusted } = options;
  const serve = (socket: Socket): void => server.take(socket, isTrusted(socket));
  const connections = new Connections(
    maxConnections,
    connectionStats,
    serve,
    handshakes,
    isTrusted,
  );
  const server: TransportServer = new TransportServer({
    messageLimit: { maxBytes: rules.limits.maxRequestBytes, setting: 'MAX_REQUEST_BYTES' },
    policy: new Gate({ ...options, rules, connections }),
  });
  const health = new Health(service, clock);
  server.add(vectorDbDefinition, vectorDbHandlers(service, options.decoder));
  server.add(HealthDefinition, health);
  if (options.reflection) {
    for (const definition of reflectionDefinitions) server.add(definition, reflection);
  }
  const { address, port, close } = await listenFor(connections, options);
  const host = isIPv6(address) ? `[${address}]` : address;
  return {
    port,
    address: `${host}:${port}`,
    async close(graceMs) {
      health.close();
      close();
      await drain(server, graceMs, clock);
      connections.close();
    },
  };
}

async function listenFor(connections: Connections, { host, port, maxConnections }: GrpcOptions) {
  return await listen({
    host,
    port,
    maxConnections,
    allowHalfOpen: false,
    onConnection: (socket) => connections.take(socket),
    onRefused: (remoteAddress) => connections.stats.noteClosed('no_place', remoteAddress),
  });
}

async function drain(server: TransportServer, graceMs: number, clock: Clock): Promise<void> {
  const endGrace = clock.after(graceMs, () => server.forceShutdown());
  await server.shutdown();
  endGrace();
}
