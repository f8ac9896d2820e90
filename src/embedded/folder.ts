import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UnavailableError } from '../client/errors.js';
import type { CallOptions, Client } from '../client/interface.js';
import type { Similarity } from '../client/model.js';
import { PointsClient } from '../client/points-client.js';
import type { Transport } from '../client/transport.js';
import { readConfig, type Config } from '../config/config.js';
import { ensureDataFolder } from '../config/data-folder.js';
import { SETTINGS } from '../config/settings.js';
import { PointsService } from '../core/points-service.js';
import { StartError } from '../core/start-error.js';
import { Engine } from '../engine/native.js';
import { InfoReader } from '../observe/info.js';
import { engineTransport } from './transport.js';

/** How an engine is opened. What is not given is as without the setting of the service. */
export interface OpenOptions extends Omit<CallOptions, 'signal'> {
  /**
   * The data folder, which is made if it is missing. Without one the points are in a temporary folder,
   * which is removed when the client is closed or the process exits by itself.
   */
  readonly path?: string | undefined;
  /** Numbers in each vector: what the folder remembers, or 384, unless told otherwise. */
  readonly dimension?: number | undefined;
  /** The search breadth of a query that names none, unless twice its limit is more (HNSW_EF). */
  readonly hnswEf?: number | undefined;
  /** Links of a point in a graph (HNSW_M). */
  readonly hnswM?: number | undefined;
  /** Breadth of the search for these links (HNSW_EF_CONSTRUCTION). */
  readonly hnswEfConstruction?: number | undefined;
  /** Similarities whose graphs are kept from the start on (WARM_METRICS). */
  readonly warmMetrics?: readonly Similarity[] | undefined;
  /** Seconds without a search after which another graph is given back (GRAPH_IDLE_SECONDS). */
  readonly graphIdleSeconds?: number | undefined;
  /** The most bytes of one request, and of its answer (MAX_REQUEST_BYTES). */
  readonly maxRequestBytes?: number | undefined;
  /** Items of one batch (MAX_BATCH). */
  readonly maxBatch?: number | undefined;
  /** UTF-8 bytes of one content (MAX_CONTENT_BYTES). */
  readonly maxContentBytes?: number | undefined;
  /** The work of one call of `searchAll` (MAX_SEARCH_WORK). */
  readonly maxSearchWork?: number | undefined;
  /** Bytes of all requests that are under way at one time (MAX_INFLIGHT_BYTES). */
  readonly maxInflightBytes?: number | undefined;
  /** Memory of the filter index (MAX_FILTER_INDEX_BYTES). */
  readonly maxFilterIndexBytes?: number | undefined;
  /** The size of a file of the log (SEGMENT_BYTES). */
  readonly segmentBytes?: number | undefined;
}

/** A client whose engine runs in this process. */
export interface EmbeddedClient extends Omit<Client, 'close'> {
  /**
   * Makes everything durable and lets the data folder go. Calls under way, and later ones, fail with
   * CANCELLED; a write that the engine has is carried out.
   */
  close(): Promise<void>;
}

/** What `open` does. Fails with errors of the engine and of settings, too. */
export async function openFolder({
  path,
  deadlineMs,
  retries,
  ...settings
}: OpenOptions): Promise<EmbeddedClient> {
  const config = configOf(settings);
  const folder =
    path === undefined ? temporaryFolder() : ensureDataFolder(checkedPath(path), 'path');
  const release = claim(folder);
  const remove = path === undefined ? removedAtExit(folder) : () => {};
  let engine: Engine | undefined;
  const close = async (): Promise<void> => {
    try {
      await engine?.close();
    } finally {
      release();
    }
    remove();
  };
  try {
    engine = await Engine.open({ ...config, path: folder });
    return new OpenFolder(transportOf(engine, config, folder), { deadlineMs, retries }, close);
  } catch (error) {
    await close();
    throw error;
  }
}

function transportOf(engine: Engine, config: Config, folder: string): Transport {
  const { dimension } = engine;
  const rules = { dimension, limits: config, defaultEf: config.hnswEf };
  const info = new InfoReader(engine, engine, rules, folder);
  return engineTransport(new PointsService(engine, rules), async () => await info.read());
}

class OpenFolder extends PointsClient implements EmbeddedClient {
  #closed: Promise<void> | undefined;

  constructor(
    transport: Transport,
    options: Omit<CallOptions, 'signal'>,
    private readonly closeEngine: () => Promise<void>,
  ) {
    super(transport, options);
  }

  override async close(): Promise<void> {
    super.close();
    this.#closed ??= this.closeEngine();
    await this.#closed;
  }
}

/** The settings of the service with these in their places, each of which has to be right. */
function configOf(options: Readonly<Record<string, unknown>>): Config {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const parsed = given.map(([key, value]) => {
    if (!isOption(key)) {
      throw new StartError(`${key} is no option, expected one of path, ${OPTION_NAMES.join(', ')}`);
    }
    return [key, valueOf(key, value)];
  });
  return { ...readConfig({}), ...Object.fromEntries(parsed) };
}

/** What a setting makes of a value, whose text is that of the variable of the service. */
function valueOf(key: keyof typeof SETTINGS, value: unknown): unknown {
  const { parse, expected, fallback } = SETTINGS[key];
  if (Array.isArray(value) && value.length === 0) return fallback;
  const parsed = parse(String(value));
  if (parsed === undefined) {
    throw new StartError(`${key} is ${JSON.stringify(value)}, expected ${expected}`);
  }
  return parsed;
}

/** The settings that concern an engine. */
const OPTION_NAMES = [
  'dimension',
  'hnswEf',
  'hnswM',
  'hnswEfConstruction',
  'warmMetrics',
  'graphIdleSeconds',
  'maxRequestBytes',
  'maxBatch',
  'maxContentBytes',
  'maxSearchWork',
  'maxInflightBytes',
  'maxFilterIndexBytes',
  'segmentBytes',
] as const satisfies readonly (keyof OpenOptions & keyof typeof SETTINGS)[];

function isOption(key: string): key is (typeof OPTION_NAMES)[number] {
  return OPTION_NAMES.some((name) => name === key);
}

function checkedPath(path: string): string {
  if (typeof path === 'string' && path.trim() !== '') return path;
  throw new StartError(`path is ${JSON.stringify(path)}, expected the path of a folder`);
}

/** The folders that clients of this process have open. */
const openFolders = new Set<string>();

/**
 * Notes that a folder is open until what is answered is called. The lock of the engine holds between
 * processes, and says of one that it is another.
 */
function claim(folder: string): () => void {
  const path = realpathSync.native(folder);
  if (openFolders.has(path)) {
    throw new UnavailableError(
      `this process has the folder ${folder} (path) open already: close the client that has it first`,
    );
  }
  openFolders.add(path);
  return () => openFolders.delete(path);
}

function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'vectord-'));
}

/** Temporary folders of clients that are open. */
const temporaryFolders = new Set<string>();

/** Removes a folder when the process exits, or when what is answered is called. */
function removedAtExit(folder: string): () => void {
  // One listener does for all: Node.js warns of a leak from eleven on.
  if (temporaryFolders.size === 0) process.on('exit', removeAll);
  temporaryFolders.add(folder);
  return () => {
    removeFolder(folder);
    temporaryFolders.delete(folder);
    if (temporaryFolders.size === 0) process.off('exit', removeAll);
  };
}

function removeAll(): void {
  for (const folder of temporaryFolders) removeFolder(folder);
}

/** The engine of a client that was not closed may make a file meanwhile: then another try follows. */
function removeFolder(folder: string): void {
  for (let tries = 1; ; tries += 1) {
    try {
      rmSync(folder, { recursive: true, force: true });
      return;
    } catch (error) {
      if (tries === MOST_TRIES) throw error;
    }
  }
}

/** An engine makes a few files a second at most. */
const MOST_TRIES = 100;
