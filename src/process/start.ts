import { resolve } from 'node:path';
import { formatAddress, type Address, type StartSummary } from './banner.js';
import { REAL_CLOCK, type Clock } from '../core/clock.js';
import type { Config } from '../config/config.js';
import {
  dataFolderWarning,
  ensureDataFolder,
  fileSystemWarning,
  refuseNodeFolder,
  WHO_NEEDS_WHAT,
} from '../config/data-folder.js';
import { DecoderThread } from '../wire/decoder-thread.js';
import { VectordError } from '../core/errors.js';
import { DiskWatch } from '../observe/disk-watch.js';
import { GraphLog } from '../observe/graph-log.js';
import { SharedCount } from '../admission/shared-count.js';
import { OpenCalls } from '../grpc/open-calls.js';
import { watchKeys } from '../auth/keys-watch.js';
import { openOwnKeysFile } from '../auth/own-keys-file.js';
import { LoadedKeys } from '../auth/loaded-keys.js';
import { watchTls } from '../auth/tls-watch.js';
import type { Logger } from '../observe/logger.js';
import { LogRateLimit } from '../observe/log-rate-limit.js';
import { Metrics } from '../observe/metrics.js';
import { openTracing } from '../observe/traces/open.js';
import { Acceptor } from '../engine/acceptor.js';
import { isDamage } from '../engine/folder.js';
import { Engine, type DimensionSource } from '../engine/native.js';
import type { ClusterNode } from '../cluster/open.js';
import { loadCluster, openClusterPoints } from './cluster.js';
import { Loops } from './loops.js';
import { openLoopWorker } from './loop-thread.js';
import { budgetOf, rulesOf, type LoopParts } from './loop.js';
import { SHUTDOWN_GRACE_MS } from './shutdown.js';
import { openTls, plainTextWarning } from './tls.js';
import { messageOf, StartError } from '../core/start-error.js';

/** The service, open on both interfaces. */
export interface RunningService {
  readonly summary: StartSummary;
  /**
   * Resolves, with the reason, once the node of a cluster has given up the log of its replica: after a
   * stop, the next start gets that of another one.
   */
  readonly lost: Promise<string>;
  /** Reads the keys and the certificate again. */
  reload(): void;
  /** Lets requests that are under way finish, then makes everything durable. */
  stop(): Promise<void>;
}

/**
 * Opens the store, the ports and the keys, in this order: nothing is accepted before it can be
 * answered, and the folder is ours before anything is made in it. Whatever fails, all is closed
 * again.
 */
export async function start(
  config: Config,
  logger: Logger,
  clock: Clock = REAL_CLOCK,
): Promise<RunningService> {
  const tracing = await openTracing(config, logger, clock);
  const tls = openTls(config, logger);
  const dataPath = ensureDataFolder(config.dataPath);
  const workers = Array.from({ length: config.loops - 1 }, openLoopWorker);
  const { cluster, engine } = await openStore(config, dataPath, logger, clock);
  const storePath = cluster?.folder ?? dataPath;
  const disk = new DiskWatch(storePath, logger, clock);
  let ports: Ports | undefined;
  try {
    for (const note of engine.notes) logger.warn({ dataPath }, note);
    // A start that fails for a port leaves no keys behind.
    ports = await openPorts(config, logger);
    const { keys, keysOrigin } = openKeys(config, dataPath);
    const folderWarnings = [dataFolderWarning(dataPath), fileSystemWarning(dataPath)];
    const warnings = [...folderWarnings, ...keys.warnings];
    for (const warning of warnings) if (warning !== undefined) logger.warn(warning);
    if (tls === undefined) warnOfPlainText(ports, logger);
    const decoder = new DecoderThread(rulesOf(config, engine));
    const used = new SharedCount();
    const inflight = budgetOf(config, used.memory);
    cluster?.follow(engine, { http: ports.http.port, grpc: ports.grpc.port }, disk);
    await disk.look();
    const settings = {
      config: { ...config, dataPath: storePath },
      keys: keys.list,
      tlsPair: tls?.pair,
      place: cluster?.place,
      inflight: used.memory,
      openCalls: new OpenCalls().memory,
    };
    const parts: LoopParts = {
      ...ports,
      engine,
      cluster: await openClusterPoints(settings, engine, logger),
      large: decoder,
      metrics: async () => await metrics.text(),
      logger,
      clock,
      tracing,
    };
    const loops = await Loops.start(workers, settings, parts);
    const metrics = new Metrics({
      engine,
      service: loops.own.service,
      decoder,
      inflight,
      maxConnections: config.maxConnections,
      maxFilterIndexBytes: config.maxFilterIndexBytes,
      dataPath: storePath,
      node: cluster,
      loops: async () => await loops.stats(),
    });
    accept(ports, loops, logger, clock);
    const watches = [
      watchKeys(keys, async (list) => await loops.setKeys(list), logger, clock),
      ...(tls ? [watchTls(tls, async (pair) => await loops.setTlsPair(pair), logger, clock)] : []),
    ];
    const graphLog = new GraphLog(engine, config, logger, clock);
    const { http, grpc } = ports;
    return {
      summary: {
        http: { host: config.httpHost, port: http.port },
        grpc: { host: config.grpcHost, port: grpc.port },
        hasTls: tls !== undefined,
        hasConsole: config.httpConsole,
        dimension: engine.dimension,
        dimensionOrigin: cluster ? 'the cluster' : DIMENSION_ORIGINS[engine.dimensionSource],
        points: engine.status().points,
        dataPath,
        keysPath: keys.path,
        keysOrigin,
      },
      lost: cluster?.lost ?? NEVER,
      reload() {
        for (const watch of watches) void watch.reload();
      },
      async stop() {
        for (const watch of watches) watch.close();
        graphLog.close();
        disk.close();
        http.close();
        grpc.close();
        // The largest takes seconds to be read: none is begun that might not end in time.
        const cancelRefusal = clock.after(SHUTDOWN_GRACE_MS / 2, () => decoder.refuseUnread());
        try {
          await loops.close(SHUTDOWN_GRACE_MS);
        } finally {
          cancelRefusal();
          await decoder.close();
          cluster?.stop();
          // A folder that cannot be left in order must leave nothing else open: a node may open anew.
          try {
            await engine.close();
          } finally {
            await cluster?.close();
            await loops.end();
            engine.release();
          }
        }
      },
    };
  } catch (error) {
    ports?.http.close();
    ports?.grpc.close();
    disk.close();
    cluster?.stop();
    await engine.close();
    await cluster?.close();
    throw error;
  }
}

/** What does not happen. */
const NEVER = new Promise<never>(() => undefined);

/** Opens the engine, in a cluster on the replica of this node: a damaged log is replaced by another's. */
async function openStore(
  config: Config,
  dataPath: string,
  logger: Logger,
  clock: Clock,
): Promise<{ cluster: ClusterNode | undefined; engine: Engine }> {
  const cluster = await openCluster(config, dataPath, logger);
  try {
    const { dimension } = cluster ?? config;
    const folder = cluster?.folder ?? dataPath;
    return { cluster, engine: await openEngine({ ...config, dimension }, folder, logger, clock) };
  } catch (error) {
    const { cause = error } = error as Error;
    const isGivenUp = isDamage(error) && cluster?.giveUpLog(messageOf(cause)) === true;
    await cluster?.close();
    if (!isGivenUp) throw error;
  }
  return await openStore(config, dataPath, logger, clock);
}

/** The node of the cluster that the settings name, if they name one. */
async function openCluster(
  config: Config,
  dataPath: string,
  logger: Logger,
): Promise<ClusterNode | undefined> {
  if (config.clusterUrls === undefined) {
    refuseNodeFolder(dataPath);
    return undefined;
  }
  const { ClusterNode } = await loadCluster();
  return await ClusterNode.open(config, dataPath, logger);
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
    throw new StartError(
      `the data folder ${path} (DATA_PATH) cannot be opened: ${reason}`,
      undefined,
      { cause: error },
    );
  } finally {
    endTelling();
  }
}

function openKeys(config: Config, dataPath: string): { keys: LoadedKeys; keysOrigin: string } {
  if (config.serviceKeysFile !== undefined) {
    const keys = LoadedKeys.load(resolve(config.serviceKeysFile));
    return { keys, keysOrigin: 'SERVICE_KEYS_FILE' };
  }
  const { path, isNew } = openOwnKeysFile(dataPath);
  const keys = LoadedKeys.load(path);
  return { keys, keysOrigin: isNew ? 'created' : 'found' };
}

interface Ports {
  readonly http: Acceptor;
  readonly grpc: Acceptor;
}

/** Opens both ports or none, and reports the faults of both. */
async function openPorts(config: Config, logger: Logger): Promise<Ports> {
  const { maxConnections } = config;
  const httpAddress = { host: config.httpHost, port: config.httpPort };
  const grpcAddress = { host: config.grpcHost, port: config.grpcPort };
  const [http, grpc] = await Promise.allSettled([
    Acceptor.bind({ ...httpAddress, maxConnections }),
    Acceptor.bind({ ...grpcAddress, maxConnections }),
  ]);
  if (http.status === 'fulfilled' && grpc.status === 'fulfilled') {
    return { http: http.value, grpc: grpc.value };
  }
  const faults: string[] = [];
  if (http.status === 'fulfilled') http.value.close();
  else faults.push(describeFault('HTTP', httpAddress, http.reason, logger));
  if (grpc.status === 'fulfilled') grpc.value.close();
  else faults.push(describeFault('GRPC', grpcAddress, grpc.reason, logger));
  throw new StartError(faults.join('\n'));
}

/** Begins to accept connections on both ports. */
function accept(ports: Ports, { own }: Loops, logger: Logger, clock: Clock): void {
  const lines = new LogRateLimit(clock);
  for (const protocol of ['http', 'grpc'] as const) {
    ports[protocol].start({
      onRefused: (remoteAddress) => own.noteRefused(protocol, remoteAddress),
      onFailed(reason) {
        const leftOut = lines.next();
        if (leftOut === undefined) return;
        logger.error({ interface: protocol, reason, ...leftOut }, 'connections cannot be accepted');
      },
    });
  }
}

function warnOfPlainText({ http, grpc }: Ports, logger: Logger): void {
  const warnings = [
    plainTextWarning('HTTP', formatAddress({ host: http.address, port: http.port })),
    plainTextWarning('GRPC', formatAddress({ host: grpc.address, port: grpc.port })),
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
  const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  const advice = `; another process listens there: set ${prefix}_PORT to a free port, or to 0 to have one picked`;
  return `cannot listen on ${where}: ${messageOf(error)}${isTaken ? advice : ''}`;
}
