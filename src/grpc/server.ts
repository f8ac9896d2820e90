import type { Socket } from 'node:net';
import type { Admission } from '../admission/connection-limit.js';
import type { MemoryBudget } from '../admission/memory-budget.js';
import type { Keys } from '../auth/keys.js';
import type { Clock } from '../core/clock.js';
import type { PointsService } from '../core/points-service.js';
import type { Service } from '../core/service.js';
import type { Accepted } from '../engine/acceptor.js';
import { HealthDefinition } from '../gen/grpc/health/v1/health.js';
import type { Info } from '../observe/info.js';
import type { Requests } from '../observe/requests.js';
import type { Decoder } from '../wire/decoder.js';
import { Connections } from './connections.js';
import { vectorDbDefinition } from './definition.js';
import { AccessControl } from './access-control.js';
import { vectorDbHandlers } from './handlers.js';
import { Health } from './health.js';
import type { OpenCalls } from './open-calls.js';
import { reflection, reflectionDefinitions } from './reflection.js';
import { pointsServiceDefinition } from './v1-definition.js';
import { pointsServiceHandlers } from './v1-handlers.js';
import { TransportServer } from './transport/server.js';

/** What the gRPC interface of one loop is made of. */
export interface GrpcOptions {
  readonly admission: Admission;
  readonly requests: Requests;
  readonly service: Service;
  readonly points: PointsService;
  readonly info: () => Promise<Info>;
  readonly decoder: Decoder;
  readonly keys: Keys;
  readonly inflight: MemoryBudget;
  readonly openCalls: OpenCalls;
  readonly clock: Clock;
  /** Whether tools may ask which services and messages there are. */
  readonly reflection: boolean;
}

/** The gRPC interface of one loop, which has no port: its connections are handed to it. */
export interface Grpc {
  /** Serves a new connection. */
  take(accepted: Accepted): void;
  /** Ends the streams whose keys open the service no longer. */
  recheckKeys(): void;
  /** Answers what is under way, and cuts what is left after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

export function createGrpc(options: GrpcOptions): Grpc {
  const { service, points, decoder, admission, openCalls, clock } = options;
  const { rules } = service;
  const serve = (socket: Socket): void => server.take(socket, admission.isTrusted(socket));
  const connections = new Connections(admission, openCalls, serve);
  const server: TransportServer = new TransportServer({
    messageLimit: { maxBytes: rules.limits.maxRequestBytes, setting: 'MAX_REQUEST_BYTES' },
    policy: new AccessControl({ ...options, rules, openBudget: openCalls.budget, connections }),
  });
  const health = new Health(service, clock);
  server.add(vectorDbDefinition, vectorDbHandlers(service, decoder));
  server.add(pointsServiceDefinition, pointsServiceHandlers(points, decoder, options.info));
  server.add(HealthDefinition, health);
  if (options.reflection) {
    for (const definition of reflectionDefinitions) server.add(definition, reflection);
  }
  return {
    take: (accepted) => connections.take(accepted),
    recheckKeys: () => connections.recheckKeys(),
    async close(graceMs) {
      health.close();
      connections.close();
      await drain(server, graceMs, clock);
    },
  };
}

async function drain(server: TransportServer, graceMs: number, clock: Clock): Promise<void> {
  const endGrace = clock.after(graceMs, () => server.forceShutdown());
  await server.shutdown();
  endGrace();
}
