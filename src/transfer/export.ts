import { createWriteStream, existsSync, renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Client } from '../client/interface.js';
import type { Filter } from '../client/model.js';
import { VectordError } from '../client/errors.js';
import { messageOf } from '../core/start-error.js';
import { kindOf, type FileKind, type Format } from './formats.js';
import { TransferError, UsageError } from './transfer-error.js';
import { arrowWriter } from './write/arrow.js';
import { parquetWriter } from './write/parquet.js';
import { fullOf, jsonLine, type FullPoint, type VectorText } from './write/point-columns.js';
import { targetOf } from './write/target.js';
import { TextsFile } from './write/texts-file.js';
import { csvWriter, jsonLinesWriter } from './write/text-writers.js';
import { FVECS_WRITER, npyWriter } from './write/vector-writers.js';
import type { PointWriter } from './write/writer.js';

export interface ExportOptions {
  readonly path: string;
  readonly format: Format | undefined;
  readonly filter: Filter | undefined;
  readonly vectors: VectorText;
  /** Replaces files that are there. */
  readonly isForced: boolean;
  /** Gives the export up: nothing of it stays. */
  readonly stopping: AbortSignal;
  readonly onProgress: (points: number, total: number) => void;
}

export interface ExportSummary {
  readonly points: number;
  /** The files that were written. */
  readonly paths: readonly string[];
}

/** Half the time of the usual one, and a few per cent longer. */
const GZIP_LEVEL = 3;

/** Writes all points, or those that pass a filter, oldest first. */
export async function exportPoints(client: Client, options: ExportOptions): Promise<ExportSummary> {
  const { path, filter, isForced, stopping: signal } = options;
  const kind = kindOf(path, options.format);
  const { dimension } = await client.info({ signal });
  const writer = await writerOf(kind, path, dimension, options.vectors);
  const paths = writer.hasTexts ? [path, textsPath(path)] : [path];
  const file = targetOf(path);
  const texts = writer.hasTexts ? targetOf(textsPath(path)) : undefined;
  const targets = texts === undefined ? [file] : [file, texts];
  const present = paths.find((one) => existsSync(one));
  if (present !== undefined && !isForced) {
    throw new TransferError(`${present} exists, and nothing was changed: --force replaces it`);
  }
  // What is left of an earlier export goes; a link of that name is not followed.
  for (const one of targets) rmSync(partial(one), { force: true });
  const total = await client.count({ filter, signal });
  const run = new Export(client, options, { file, texts }, kind, writer, total);
  try {
    const points = await run.write();
    for (const one of targets.toReversed()) renameSync(partial(one), one);
    return { points, paths };
  } catch (error) {
    for (const one of targets) rmSync(partial(one), { force: true });
    if (error instanceof VectordError || error instanceof TransferError) throw error;
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    throw new TransferError(`${path} cannot be written: ${messageOf(error)}`);
  }
}

/** Where ids, contents and metadata lie beside a file of vectors. */
export function textsPath(path: string): string {
  return `${path}.texts.jsonl`;
}

function partial(path: string): string {
  return `${path}.partial`;
}

async function writerOf(
  { format, isGzip }: FileKind,
  path: string,
  dimension: number,
  vectors: VectorText,
): Promise<PointWriter> {
  switch (format) {
    case 'npy':
      if (!isGzip) return npyWriter(dimension);
      throw new UsageError(
        `${path}: the number of rows stands at the beginning of .npy, and is known at the end: ` +
          'write it without .gz, and pack it then',
      );
    case 'fvecs':
      return FVECS_WRITER;
    case 'bvecs':
      throw new UsageError(`${path}: .bvecs holds bytes, and vectors are floats`);
    case 'jsonl':
      return jsonLinesWriter(vectors);
    case 'csv':
      return csvWriter(vectors);
    case 'parquet':
      return await parquetWriter(dimension);
    case 'arrow':
      return await arrowWriter(dimension);
  }
}

/** Where the files come to lie. */
interface Targets {
  readonly file: string;
  readonly texts: string | undefined;
}

class Export {
  #points = 0;

  constructor(
    private readonly client: Client,
    private readonly options: ExportOptions,
    private readonly targets: Targets,
    private readonly kind: FileKind,
    private readonly writer: PointWriter,
    private readonly total: number,
  ) {}

  /** Writes the files, which have other names until they are whole; answers the number of points. */
  async write(): Promise<number> {
    const { headerFor } = this.writer;
    const { file, texts: textsTarget } = this.targets;
    const texts =
      textsTarget === undefined ? undefined : await TextsFile.create(partial(textsTarget));
    try {
      await this.#writePoints(texts);
      await texts?.finish();
    } finally {
      await texts?.close();
    }
    if (headerFor !== undefined) await writeBeginning(partial(file), headerFor(this.#points));
    return this.#points;
  }

  async #writePoints(texts: TextsFile | undefined): Promise<void> {
    const { stopping: signal } = this.options;
    const bytes = this.writer.encode(this.#pointsWith(texts));
    const file = createWriteStream(partial(this.targets.file), { flags: 'wx', flush: true });
    const packed = this.kind.isGzip ? [createGzip({ level: GZIP_LEVEL })] : [];
    await pipeline([Readable.from(bytes, { objectMode: false }), ...packed, file], { signal });
  }

  async *#pointsWith(texts: TextsFile | undefined): AsyncGenerator<FullPoint, void, undefined> {
    const { filter, stopping: signal, onProgress } = this.options;
    const include = ['vector', 'content', 'contentType', 'metadata'] as const;
    for await (const point of this.client.scroll({ filter, include, signal })) {
      const full = fullOf(point);
      await texts?.add(jsonLine(full));
      this.#points += 1;
      onProgress(this.#points, Math.max(this.total, this.#points));
      yield full;
    }
  }
}

async function writeBeginning(path: string, header: Uint8Array): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.write(header, 0, header.length, 0);
    await file.sync();
  } finally {
    await file.close();
  }
}
