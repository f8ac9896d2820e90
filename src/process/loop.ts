import { Status } from 'nice-grpc-common';
import type { Admission } from '../admission/connection-limit.js';
import { Handshakes } from '../admission/handshakes.js';
import { MemoryBudget } from '../admission/memory-budget.js';
import { SharedCount } from '../admission/shared-count.js';
import { trustedProxies } from '../admission/trusted-proxies.js';
import type { Key } from '../auth/keys-file.js';
import { Keys } from '../auth/keys.js';
import type { TlsPair } from '../auth/tls-files.js';
import type { ClusterPoints, LoopPlace } from '../cluster/loop-points.js';
import type { Config } from '../config/config.js';
import type { Clock } from '../core/clock.js';
import type { Rules } from '../core/rules.js';
import { PointsService } from '../core/points-service.js';
import { Service } from '../core/service.js';
import type { Acceptor } from '../engine/acceptor.js';
import type { Engine } from '../engine/native.js';
import { OpenCalls, type OpenCallsMemory } from '../grpc/open-calls.js';
import { createGrpc, type Grpc } from '../grpc/server.js';
import { createHttp, type Http } from '../http/server.js';
import { ConnectionStats } from '../observe/connection-stats.js';
import { InfoReader, type Info } from '../observe/info.js';
import type { Logger } from '../observe/logger.js';
import { LoopMeter, type LoopStats, type ObservedInterface } from '../observe/loop-stats.js';
import { Requests } from '../observe/requests.js';
import { TracedPoints } from '../observe/traces/traced-points.js';
import type { Tracing } from '../observe/tracing.js';
import { Decoder, type LargeReader } from '../wire/decoder.js';

/** A collector that answers takes what is left of the traces in less; one that is down takes nothing. */
const MOST_FLUSH_MS = 2_000;

/** What all loops have in common, in a form that another thread can be sent. */
export interface LoopSettings {
  readonly config: Config;
  /** What a loop has to know of the cluster; undefined where there is none. */
  readonly place: LoopPlace | undefined;
  readonly keys: readonly Key[];
  /** The certificate and its key, where TLS is on. */
  readonly tlsPair: TlsPair | undefined;
  /** Where all loops count what they take of MAX_INFLIGHT_BYTES. */
  readonly inflight: SharedArrayBuffer;
  readonly openCalls: OpenCallsMemory;
}

/** What one loop is given besides. */
export interface LoopParts {
  readonly engine: Engine;
  /** The points of the cluster, of which the engine holds a replica. */
  readonly cluster: ClusterPoints | undefined;
  readonly http: Acceptor;
  readonly grpc: Acceptor;
  readonly large: LargeReader;
  /** All metrics of the service, as text. */
  readonly metrics: () => Promise<string>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Undefined where traces are off. */
  readonly tracing: Tracing | undefined;
}

/** What can be asked of a loop, on whichever thread it runs, or of all of them. */
export interface LoopControl {
  /** From now on these keys open the service. */
  setKeys(keys: readonly Key[]): Promise<void>;
  /** From now on handshakes have this certificate. */
  setTlsPair(pair: TlsPair): Promise<void>;
  /** Answers what is under way, and cuts what is left after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Both interfaces, as one event loop serves them: the one of the calling thread. */
export class Loop implements LoopControl {
  readonly service: Service;
  readonly #keys: Keys;
  readonly #handshakes: { readonly http: Handshakes; readonly grpc: Handshakes } | undefined;
  readonly #meter: LoopMeter;
  readonly #http: Http;
  readonly #grpc: Grpc;
  readonly #tracing: Tracing | undefined;
  readonly #cluster: ClusterPoints | undefined;
  readonly #clock: Clock;
  readonly #stats: { readonly http: ConnectionStats; readonly grpc: ConnectionStats };

  constructor({ config, keys, tlsPair, ...shared }: LoopSettings, parts: LoopParts) {
    const { engine, cluster, logger, clock, tracing } = parts;
    const rules = rulesOf(config, engine);
    const all = cluster?.points ?? engine;
    const stored = tracing === undefined ? all : new TracedPoints(all, tracing);
    this.service = new Service(stored, rules);
    this.#tracing = tracing;
    this.#cluster = cluster;
    this.#clock = clock;
    const inflight = budgetOf(config, shared.inflight);
    this.#keys = new Keys(keys);
    const http = observe('http', config, parts);
    const grpc = observe('grpc', config, parts);
    this.#stats = { http: http.connectionStats, grpc: grpc.connectionStats };
    this.#handshakes = tlsPair && {
      http: new Handshakes(tlsPair, 'http/1.1', this.#stats.http),
      grpc: new Handshakes(tlsPair, 'h2', this.#stats.grpc),
    };
    this.#meter = new LoopMeter([http, grpc], cluster);
    const isTrusted = trustedProxies(config.trustedProxies);
    const admission = (protocol: 'http' | 'grpc'): Admission => ({
      isFull: () => parts[protocol].isFull,
      loops: config.loops,
      stats: this.#stats[protocol],
      handshakes: this.#handshakes?.[protocol],
      isTrusted,
    });
    const { service } = this;
    const decoder = new Decoder(rules, parts.large, tracing);
    const points = new PointsService(stored, rules);
    const infoReader = new InfoReader(all, engine, rules, config.dataPath);
    const info = async (): Promise<Info> => await infoReader.read();
    const both = { service, points, info, decoder, keys: this.#keys, inflight, clock };
    this.#http = createHttp({
      ...both,
      admission: admission('http'),
      requests: http.requests,
      logger,
      metrics: parts.metrics,
      onMalformed: (status) => this.#meter.countMalformed(status),
      metricsOpen: config.metricsOpen,
      hasConsole: config.httpConsole,
      corsOrigins: config.corsOrigins,
    });
    this.#grpc = createGrpc({
      ...both,
      admission: admission('grpc'),
      requests: grpc.requests,
      openCalls: new OpenCalls(shared.openCalls),
      reflection: config.grpcReflection,
    });
    parts.http.receive((connection) => this.#http.take(connection));
    parts.grpc.receive((connection) => this.#grpc.take(connection));
  }

  /** Notes that no loop got a connection. */
  noteRefused(protocol: 'http' | 'grpc', remoteAddress: string): void {
    this.#stats[protocol].noteClosed('accept_timeout', remoteAddress);
  }

  async setKeys(keys: readonly Key[]): Promise<void> {
    this.#keys.set(keys);
    this.#grpc.recheckKeys();
  }

  async setTlsPair(pair: TlsPair): Promise<void> {
    this.#handshakes?.http.setPair(pair);
    this.#handshakes?.grpc.setPair(pair);
  }

  async stats(): Promise<LoopStats> {
    return this.#meter.stats();
  }

  async close(graceMs: number): Promise<void> {
    this.service.announceStop();
    const endsAtMs = this.#clock.nowMs() + graceMs;
    await Promise.all([this.#http.close(graceMs), this.#grpc.close(graceMs)]);
    this.#meter.close();
    await this.#cluster?.close();
    await this.#tracing?.close(Math.min(endsAtMs - this.#clock.nowMs(), MOST_FLUSH_MS));
  }
}

/** The memory that requests may take. All loops count what they use in the same place. */
export function budgetOf(config: Config, inflight: SharedArrayBuffer): MemoryBudget {
  const { maxInflightBytes, maxRequestBytes } = config;
  return new MemoryBudget(maxInflightBytes, maxRequestBytes, new SharedCount(inflight));
}

/** What requests are held to. */
export function rulesOf(config: Config, { dimension }: Pick<Engine, 'dimension'>): Rules {
  return { dimension, limits: config, defaultEf: config.hnswEf };
}

function observe(
  protocol: 'http' | 'grpc',
  { slowRequestMs }: Config,
  { logger, tracing }: LoopParts,
): ObservedInterface {
  const nameOf = (status: number) => (protocol === 'http' ? status : (Status[status] ?? status));
  return {
    requests: new Requests({ protocol, nameOf, logger, slowRequestMs, tracing }),
    connectionStats: new ConnectionStats(protocol, logger),
  };
}
