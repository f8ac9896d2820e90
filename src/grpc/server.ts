import { isIPv6 } from 'node:net';
import { logVerbosity, setLogVerbosity } from '@grpc/grpc-js';
import { createServer, type Server } from 'nice-grpc';
import type { Clock } from '../core/clock.js';
import type { Decoder } from '../wire/decoder.js';
import { HealthDefinition } from '../gen/grpc/health/v1/health.js';
import type { MemoryBudget } from '../admission/memory-budget.js';
import type { Keys } from '../auth/keys.js';
import type { ObservedInterface } from '../observe/metrics.js';
import type { RequestScheduler } from '../admission/request-scheduler.js';
import type { Service } from '../core/service.js';
import type { Strangers } from '../admission/strangers.js';
import { makeCallContextsLazy } from './call-context.js';
import { channelOptions } from './channel-options.js';
import { Connections } from './connections.js';
import { vectorDbDefinition } from './definition.js';
import { callGate } from './gate.js';
import { vectorDbHandlers } from './handlers.js';
import { Health } from './health.js';
import { reflection, reflectionDefinitions } from './reflection.js';

export interface GrpcOptions extends ObservedInterface {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Connections at one time; others are closed at once, unless one gives way. */
  readonly maxConnections: number;
  readonly strangers: Strangers;
  readonly service: Service;
  readonly decoder: Decoder;
  readonly keys: Keys;
  readonly pace: RequestScheduler;
  readonly inflight: MemoryBudget;
  readonly clock: Clock;
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
  const { service, decoder, pace, clock } = options;
  // What goes wrong is told by our own messages; grpc-js would print its own besides.
  setLogVerbosity(logVerbosity.NONE);
  makeCallContextsLazy();
  const connections = new Connections(
    options.maxConnections,
    options.strangers,
    options.connectionStats,
  );
  const { rules } = service;
  const gate = callGate({ ...options, rules });
  const server = createServer(
    channelOptions(rules.limits.maxRequestBytes, gate, connections, pace),
  );
  const health = new Health(service, clock);
  server.add(vectorDbDefinition, vectorDbHandlers(service, decoder, pace));
  server.add(HealthDefinition, health);
  if (options.reflection) {
    for (const definition of reflectionDefinitions) server.add(definition, reflection(pace));
  }
  const host = isIPv6(options.host) ? `[${options.host}]` : options.host;
  const port = await server.listen(`${host}:${options.port}`);
  return {
    port,
    address: `${host}:${port}`,
    async close(graceMs) {
      await close(server, health, connections, graceMs, clock);
      connections.close();
    },
  };
}

async function close(
  server: Server,
  health: Health,
  connections: Connections,
  graceMs: number,
  clock: Clock,
): Promise<void> {
  health.close();
  const ended = Promise.race([server.shutdown(), connections.ended()]);
  await new Promise<void>((resolve, reject) => {
    const endGrace = clock.after(graceMs, () => {
      server.forceShutdown();
      resolve();
    });
    ended.finally(endGrace).then(resolve, reject);
  });
}
