import native from '../../native/index.cjs';
import { VectordError, type ErrorCode } from '../core/errors.js';
import {
  ContentType,
  type ContentType as ContentTypeNumber,
  type NewPoint,
  type Similarity,
} from '../core/model.js';
import type { Limits } from '../core/limits.js';
import type { PointBatch } from '../core/point-batch.js';
import { POINT_ID_BYTES, type PointId, type PointIds } from '../core/point-id.js';
import type { Points } from '../core/points.js';
import type { EngineQuery, QueryBatch } from '../core/query-batch.js';
import type { OnRequestEnd } from '../core/request-end.js';
import { describeSingle, type DescribeItem } from '../core/rules.js';

export interface EngineOptions {
  readonly path: string;
  /** Absent: the dimension that the data folder remembers, or the default for a fresh one. */
  readonly dimension: number | undefined;
  readonly hnswM: number;
  readonly hnswEfConstruction: number;
  /** Similarities whose graphs are kept from the start on, before any search asks for them. */
  readonly warmMetrics: readonly Similarity[];
  /** Size of a file of the log. */
  readonly segmentBytes: number;
  /** Also bounds the memory of the requests that the engine has taken on. */
  readonly maxInflightBytes: number;
}

export type EngineStatus = native.EngineStatus;
export type EngineDamage = native.EngineDamage;
export type EngineMetrics = native.EngineMetrics;
export type FolderEvent = native.FolderEvent;
export type FolderReport = native.FolderReport;
export type BackupReport = native.BackupReport;
export type RepairReport = native.RepairReport;
export type DimensionSource = 'Configured' | 'Remembered' | 'Default';

/**
 * The only door to the addon: typed arrays in, buffers out, every error turned into a
 * VectordError. Calls are synchronous; where the engine has to wait for the disk or works on its
 * own threads, the call hands over the work and answers a promise.
 */
export class Engine implements Points {
  readonly #engine: native.NativeEngine;
  readonly dimension: number;

  private constructor(engine: native.NativeEngine) {
    this.#engine = engine;
    this.dimension = engine.dimension;
  }

  /** Opens a data folder; what stands in the way is told in the message. */
  static async open({ path, dimension, ...settings }: EngineOptions): Promise<Engine> {
    const options = {
      path,
      m: settings.hnswM,
      efConstruction: settings.hnswEfConstruction,
      warmMetrics: [...settings.warmMetrics],
      segmentBytes: settings.segmentBytes,
      maxQueuedBytes: settings.maxInflightBytes,
    };
    const all = dimension === undefined ? options : { ...options, dimension };
    return new Engine(await translateAsync(() => native.NativeEngine.open(all)));
  }

  get dimensionSource(): DimensionSource {
    return this.#engine.dimensionSource as DimensionSource;
  }

  /** What opening the folder had to repair, as lines for the log. */
  get notes(): readonly string[] {
    return this.#engine.notes;
  }

  async insert(batch: PointBatch, describe: DescribeItem): Promise<void> {
    const { ids, vectors, contentTypes, contents, contentEnds } = batch;
    await translateAsync(
      () => this.#engine.insert(ids, vectors, contentTypes, contents, contentEnds),
      describe,
    );
  }

  async delete(id: PointId): Promise<boolean> {
    return await translateAsync(() => this.#engine.delete(id));
  }

  get(id: PointId): NewPoint | undefined {
    const point = translate(() => this.#engine.get(id));
    if (point === null) return undefined;
    const { vector, contentType, content } = point;
    return { vector, payload: { contentType: toContentType(contentType), content } };
  }

  search({ vector, similarity, limit, ef }: EngineQuery): PointIds | undefined {
    return translate(() => this.#engine.search(vector, similarity, limit, ef)) ?? undefined;
  }

  /** Runs on the engine's own threads. */
  async searchBatch(
    batch: QueryBatch,
    describe: DescribeItem,
    onRequestEnd: OnRequestEnd,
  ): Promise<PointIds[]> {
    const { vectors, similarities, limits, efs } = batch;
    const { ids, counts } = await translateAsync(() => {
      const { answer, ticket } = this.#engine.searchBatch(vectors, similarities, limits, efs);
      if (ticket !== undefined) onRequestEnd(() => this.#engine.abandonSearch(ticket));
      return answer;
    }, describe);
    let end = 0;
    return Array.from(counts, (count) => {
      const start = end;
      end += count * POINT_ID_BYTES;
      return ids.subarray(start, end);
    });
  }

  searchWork(limits: Uint32Array, efs: Uint32Array): number {
    return this.#engine.searchWork(limits, efs);
  }

  status(): EngineStatus {
    return this.#engine.status();
  }

  metrics(): EngineMetrics {
    return this.#engine.metrics();
  }

  /** Makes everything durable and lets the data folder go; everything else is refused from now on. */
  async close(): Promise<void> {
    await translateAsync(() => this.#engine.close());
  }
}

/** The vector as a JSON array, each value in the shortest form that reads back as the same f32. */
export function formatVector(vector: Float32Array): string {
  return native.formatVector(vector);
}

/** What a body of JSON holds, or why it is refused. */
export type JsonPoints = native.JsonPoints | native.JsonRefusal;
export type JsonQueries = native.JsonQueries | native.JsonRefusal;
export type JsonQuery = native.JsonQuery | native.JsonRefusal;
export type JsonRefusal = native.JsonRefusal;

/** Reads the body that inserts a point. */
export function readPoint(body: Uint8Array, { maxContentBytes }: Limits): JsonPoints {
  return native.readPoint(body, maxContentBytes);
}

/** Reads the body that inserts points. */
export function readPoints(body: Uint8Array, { maxBatch, maxContentBytes }: Limits): JsonPoints {
  return native.readPoints(body, maxBatch, maxContentBytes);
}

/** Reads the body of a search. */
export function readQuery(body: Uint8Array): JsonQuery {
  return native.readQuery(body);
}

/** Reads the body of a batch search. */
export function readQueries(body: Uint8Array, { maxBatch }: Limits): JsonQueries {
  return native.readQueries(body, maxBatch);
}

/** Work on a data folder that failed, with the engine's stable name of the reason. */
export class FolderError extends Error {
  override readonly name = 'FolderError';

  constructor(
    readonly code: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

type OnFolderEvent = (event: FolderEvent) => void;

/** Verifies a data folder that no process has open; changes nothing. */
export async function checkFolder(path: string, onEvent: OnFolderEvent): Promise<FolderReport> {
  return await translateFolder(() => native.checkFolder(path, onEvent));
}

/** Backs up a data folder, also one that is being served, into one that is missing or empty. */
export async function backupFolder(
  source: string,
  target: string,
  onEvent: OnFolderEvent,
): Promise<BackupReport> {
  return await translateFolder(() => native.backupFolder(source, target, onEvent));
}

/** Verifies a backup and copies it into a data folder that is missing or empty. */
export async function restoreFolder(
  source: string,
  target: string,
  onEvent: OnFolderEvent,
): Promise<FolderReport> {
  return await translateFolder(() => native.restoreFolder(source, target, onEvent));
}

/** Saves the points of a damaged data folder into one that is missing or empty. */
export async function repairFolder(
  source: string,
  target: string,
  onEvent: OnFolderEvent,
): Promise<RepairReport> {
  return await translateFolder(() => native.repairFolder(source, target, onEvent));
}

async function translateFolder<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const { code = '', message } = asEngineError(error);
    throw new FolderError(code, message, { cause: error });
  }
}

function toContentType(number: number): ContentTypeNumber {
  return number === ContentType.Text ? ContentType.Text : ContentType.Image;
}

function translate<T>(call: () => T, describe: DescribeItem = describeSingle): T {
  try {
    return call();
  } catch (error) {
    throw toVectordError(error, describe);
  }
}

async function translateAsync<T>(
  call: () => Promise<T>,
  describe: DescribeItem = describeSingle,
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw toVectordError(error, describe);
  }
}

/** The engine's codes that clients hear of; every other one is a fault of the service. */
const CODES: ReadonlyMap<string, ErrorCode> = new Map([
  ['INVALID_ARGUMENT', 'INVALID_ARGUMENT'],
  ['NOT_FINITE', 'INVALID_ARGUMENT'],
  ['STORAGE_FULL', 'STORAGE_FULL'],
  ['OVERLOADED', 'OVERLOADED'],
  ['CLOSED', 'UNAVAILABLE'],
  ['ABANDONED', 'CANCELLED'],
]);

function toVectordError(error: unknown, describe: DescribeItem): VectordError {
  const { code = '', item, message } = asEngineError(error);
  const where = item === undefined ? '' : describe(item);
  return new VectordError(CODES.get(code) ?? 'INTERNAL', `${where}${message}`, { cause: error });
}

/** What the addon says of an error; what is no error of the engine has another code or none. */
interface EngineError extends Error {
  readonly code?: string;
  /** The index of the item of a batch that is to blame. */
  readonly item?: number;
}

function asEngineError(error: unknown): EngineError {
  return error instanceof Error ? error : new Error(String(error));
}
