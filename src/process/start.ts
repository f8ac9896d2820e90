import { resolve } from 'node:path';
import { Status } from 'nice-grpc';
import { formatAddress, type Address, type StartSummary } from './banner.js';
import { REAL_CLOCK, type Clock } from '../core/clock.js';
import type { Config } from '../config/config.js';
import {
  dataFolderWarning,
  ensureDataFolder,
  fileSystemWarning,
  WHO_NEEDS_WHAT,
} from '../config/data-folder.js';
import { Decoder } from '../wire/decoder.js';
import { VectordError } from '../core/errors.js';
import { GraphLog } from '../observe/graph-log.js';
import { startGrpc } from '../grpc/server.js';
import { startHttp } from '../http/server.js';
import { MemoryBudget } from '../admission/memory-budget.js';
import { watchKeys } from '../auth/keys-watch.js';
import { openOwnKeysFile } from '../auth/own-keys-file.js';
import { Keys } from '../auth/keys.js';
import type { Logger } from '../observe/logger.js';
import { ConnectionStats } from '../observe/connection-stats.js';
import { Metrics, type ObservedInterface } from '../observe/metrics.js';
import { Requests } from '../observe/requests.js';
import { Engine, type DimensionSource } from '../engine/native.js';
import { Service } from '../core/service.js';
import { SHUTDOWN_GRACE_MS } from './shutdown.js';
import { trustedProxies } from '../admission/trusted-proxies.js';
import { openTls, plainTextWarning, type Tls } from './tls.js';
import { messageOf, StartError } from '../core/start-error.js';

/** The service, open on both interfaces. */
export interface RunningService {
  readonly summary: StartSummary;
  /** Reads the keys and the certificate again. */
  reload(): void;
  /** Lets requests that are under way finish, then makes everything durable. */
  stop(): Promise<void>;
}

/**
 * Opens the store, the keys and the ports, in this order: nothing listens before it can answer,
 * and the folder is ours before anything is made in it. Whatever fails, all is closed again.
 */
export async function start(
  config: Config,
  logger: Logger,
  clock: Clock = REAL_CLOCK,
): Promise<RunningService> {
  const tls = openTls(config, logger, clock);
  const dataPath = ensureDataFolder(config.dataPath);
  const engine = await openEngine(config, dataPath, logger, clock);
  try {
    for (const note of engine.notes) logger.warn({ dataPath }, note);
    const { keys, keysOrigin } = openKeys(config, dataPath);
    const folderWarnings = [dataFolderWarning(dataPath), fileSystemWarning(dataPath)];
    const warnings = [...folderWarnings, ...keys.warnings];
    for (const warning of warnings) if (warning !== undefined) logger.warn(warning);
    const rules = { dimension: engine.dimension, limits: config, defaultEf: config.hnswEf };
    const decoder = new Decoder(rules);
    const service = new Service(engine, rules);
    const inflight = new MemoryBudget(config.maxInflightBytes, config.maxRequestBytes);
    const interfaces = watchInterfaces(config, logger);
    const { maxConnections } = config;
    const observed = { engine, service, decoder, inflight, maxConnections, dataPath };
    const metrics = new Metrics({ ...observed, interfaces: Object.values(interfaces) });
    const shared = { service, decoder, keys, inflight, logger, clock };
    const servers = await startServers(config, { ...shared, tls }, interfaces, metrics);
    const watch = watchKeys(keys, logger, clock);
    const graphLog = new GraphLog(engine, config, logger, clock);
    return {
      summary: {
        http: { host: config.httpHost, port: servers.http.port },
        grpc: { host: config.grpcHost, port: servers.grpc.port },
        hasTls: tls !== undefined,
        dimension: engine.dimension,
        dimensionOrigin: DIMENSION_ORIGINS[engine.dimensionSource],
        points: engine.status().points,
        dataPath,
        keysPath: keys.path,
        keysOrigin,
      },
      reload() {
        watch.reload();
        tls?.reload();
      },
      async stop() {
        service.announceStop();
        watch.close();
        tls?.close();
        graphLog.close();
        // The largest takes seconds to be read: none is begun that might not end in time.
        const cancelRefusal = clock.after(SHUTDOWN_GRACE_MS / 2, () => decoder.refuseUnread());
        try {
          await Promise.all([
            servers.http.close(SHUTDOWN_GRACE_MS),
            servers.grpc.close(SHUTDOWN_GRACE_MS),
          ]);
        } finally {
          cancelRefusal();
          metrics.close();
          await decoder.close();
          await engine.close();
        }
      },
    };
  } catch (error) {
    tls?.close();
    await engine.close();
    throw error;
  }
}

/** An open that takes long says this often for how long it has gone on. */
const OPENING_LINE_EVERY_MS = 2_000;

/** What to do about a folder that cannot be opened, by what the engine says of it. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  // How the system says that something is there for others only.
  [/\((?:os error (?:1|13|30))\)/, WHO_NEEDS_WHAT],
  [
    // The same for a full disk and for a quota that is used up.
    /\((?:os error (?:28|122|69))\)/,
    'A start may need some space. Free some on that disk, and start again: nothing is lost.',
  ],
  [
    / is damaged at byte /,
    'Nothing was changed. `vectord check` names all that is damaged; `vectord restore SRC` brings ' +
      'a backup back, into another folder; without one, `vectord repair FOLDER --into NEW` saves ' +
      'every point that is sound.',
  ],
];

const DIMENSION_ORIGINS: Readonly<Record<DimensionSource, string>> = {
  Configured: 'DIMENSION',
  Remembered: 'remembered by the data folder',
  Default: 'default: DIMENSION is not set',
};

async function openEngine(
  config: Config,
  path: string,
  logger: Logger,
  clock: Clock,
): Promise<Engine> {
  const begunAtMs = clock.nowMs();
  const endTelling = clock.every(OPENING_LINE_EVERY_MS, () => {
    const seconds = Math.round((clock.nowMs() - begunAtMs) / 1_000);
    logger.info({ dataPath: path, seconds }, 'opening the data folder');
  });
  try {
    return await Engine.open({ ...config, path });
  } catch (error) {
    if (!(error instanceof VectordError)) throw error;
    const [, advice] = ADVICE.find(([pattern]) => pattern.test(error.message)) ?? [];
    const reason = [error.message, advice].filter((part) => part !== undefined).join('\n');
    throw new StartError(`the data folder ${path} (DATA_PATH) cannot be opened: ${reason}`);
  } finally {
    endTelling();
  }
}

function openKeys(config: Config, dataPath: string): { keys: Keys; keysOrigin: string } {
  if (config.serviceKeysFile !== undefined) {
    return { keys: Keys.load(resolve(config.serviceKeysFile)), keysOrigin: 'SERVICE_KEYS_FILE' };
  }
  const { path, isNew } = openOwnKeysFile(dataPath);
  return { keys: Keys.load(path), keysOrigin: isNew ? 'created' : 'created at an earlier start' };
}

interface Server {
  /** The IP address that it is bound to, or that and the port. */
  readonly address: string;
  readonly port: number;
  close(graceMs: number): Promise<void>;
}

/** What both servers need. */
interface Shared {
  readonly service: Service;
  readonly decoder: Decoder;
  readonly keys: Keys;
  readonly inflight: MemoryBudget;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly tls: Tls | undefined;
}

/** Who notes what happens on each interface. */
interface Interfaces {
  readonly http: ObservedInterface;
  readonly grpc: ObservedInterface;
}

function watchInterfaces({ slowRequestMs }: Config, logger: Logger): Interfaces {
  const watch = (
    protocol: 'http' | 'grpc',
    nameOf: (status: number) => string | number,
  ): ObservedInterface => ({
    requests: new Requests({ protocol, nameOf, logger, slowRequestMs }),
    connectionStats: new ConnectionStats(protocol, logger),
  });
  return {
    http: watch('http', (status) => status),
    grpc: watch('grpc', (code) => Status[code] ?? code),
  };
}

/** Starts both servers or none, and reports the faults of both. */
async function startServers(
  config: Config,
  shared: Shared,
  interfaces: Interfaces,
  metrics: Metrics,
): Promise<{ http: Server; grpc: Server }> {
  const { logger, tls } = shared;
  const { metricsOpen, corsOrigins, maxConnections } = config;
  const isTrusted = trustedProxies(config.trustedProxies);
  const both = { ...shared, maxConnections, isTrusted };
  const httpAddress = { host: config.httpHost, port: config.httpPort };
  const grpcAddress = { host: config.grpcHost, port: config.grpcPort };
  const reflection = config.grpcReflection;
  const [http, grpc] = await Promise.allSettled([
    startHttp({
      ...both,
      ...httpAddress,
      ...interfaces.http,
      metrics,
      metricsOpen,
      corsOrigins,
      handshakes: tls?.http,
    }),
    startGrpc({
      ...both,
      ...grpcAddress,
      ...interfaces.grpc,
      reflection,
      handshakes: tls?.grpc,
    }),
  ]);
  if (http.status === 'fulfilled' && grpc.status === 'fulfilled') {
    if (tls === undefined) warnOfPlainText(http.value, grpc.value, logger);
    return { http: http.value, grpc: grpc.value };
  }
  const faults: string[] = [];
  if (http.status === 'fulfilled') await http.value.close(0);
  else faults.push(describeFault('HTTP', httpAddress, http.reason, logger));
  if (grpc.status === 'fulfilled') await grpc.value.close(0);
  else faults.push(describeFault('GRPC', grpcAddress, grpc.reason, logger));
  throw new StartError(faults.join('\n'));
}

function warnOfPlainText(http: Server, grpc: Server, logger: Logger): void {
  const { address: host, port } = http;
  const warnings = [
    plainTextWarning('HTTP', formatAddress({ host, port })),
    plainTextWarning('GRPC', grpc.address),
  ];
  for (const warning of warnings) if (warning !== undefined) logger.warn(warning);
}

function describeFault(
  prefix: 'HTTP' | 'GRPC',
  address: Address,
  error: unknown,
  logger: Logger,
): string {
  // A defect of ours would hide behind the message; this shows where it comes from.
  logger.debug({ err: error }, `${prefix} interface does not start`);
  const where = `${formatAddress(address)} (${prefix}_HOST, ${prefix}_PORT)`;
  // Of a gRPC port only the text tells.
  const isTaken = messageOf(error).includes('EADDRINUSE');
  const advice = `; another process listens there: set ${prefix}_PORT to a free port, or to 0 to have one picked`;
  return `cannot listen on ${where}: ${messageOf(error)}${isTaken ? advice : ''}`;
}
