import type { Client } from '../client/interface.js';
import { reworded, VectordError } from '../client/errors.js';
import type { BulkProgress, Info, NewPoint } from '../client/model.js';
import type { ImportState, Position } from './import-state.js';
import { isMapped, type Mapping } from './mapping.js';
import { pointOf } from './point-of.js';
import { Rejects } from './rejects.js';
import type { Row, Source } from './row.js';
import { LengthFault, RowFault, TransferError } from './transfer-error.js';
import { untilAborted } from './until-aborted.js';

/** How often the state is written: what is lost in a crash is stored once more, under the same ids. */
const STATE_EVERY_MS = 1_000;

/** Rows whose columns are looked at, where the file does not tell which it has. */
const SAMPLED_ROWS = 100;

/** If so many rows, the first ones, have vectors of one other length, all have. */
const SAME_LENGTHS = 10;

/** Rows from one place at which an import can go on to the next. */
const MARK_EVERY_ROWS = 256;

const NOTHING: BulkProgress = { stored: 0, replaced: 0, kept: 0, points: 0, leading: 0, bytes: 0 };

export interface ImportOptions {
  readonly mapping: Mapping;
  /** What ids of rows without one are made of, with their numbers. */
  readonly sourceName: string;
  readonly state: ImportState;
  /** Forgets what an earlier import has done. */
  readonly isRestart: boolean;
  readonly rejectsPath: string;
  readonly maxRejects: number;
  readonly ifAbsent: boolean;
  readonly window: number | undefined;
  readonly patienceMs: number | undefined;
  /** Ends the import behind the batches that are under way. */
  readonly stopping: AbortSignal;
  readonly onProgress: (progress: ImportProgress) => void;
}

export interface ImportProgress {
  /** Rows that are stored or rejected, those before an interruption included. */
  readonly rows: number;
  readonly rejected: number;
  /** How much of the file was read, from 0 to 1. */
  readonly share: number | undefined;
}

export interface ImportSummary extends ImportProgress {
  /** Rows that an earlier import had done. */
  readonly before: number;
  readonly stored: number;
  readonly replaced: number;
  readonly kept: number;
  /** The first of the rejected rows, and why it was. */
  readonly firstRejected: { readonly row: number; readonly reason: string } | undefined;
  /** Columns of the file that no point is made of. */
  readonly unused: readonly string[];
  /** What ended it before the end of the file. */
  readonly stoppedBy: 'signal' | 'rejects' | undefined;
}

/** Stores the rows of a source as points; every bad row is found before it is sent. */
export async function importRows(
  client: Client,
  source: Source,
  options: ImportOptions,
): Promise<ImportSummary> {
  const { state, isRestart, stopping } = options;
  const position = state.begin(isRestart);
  const info = await client.info({ signal: stopping }).catch((error: unknown) => {
    if (!stopping.aborted) throw error;
  });
  if (info === undefined) return stoppedAt(position);
  checkDimension(source.dimension, info);
  const run = new Import(source, info, options, position);
  try {
    return await run.to(client);
  } finally {
    run.close();
  }
}

/** What is told of an import that a signal has ended before it had begun. */
function stoppedAt({ rows, rejected }: Position): ImportSummary {
  const { stored, replaced, kept } = NOTHING;
  const unknown = { share: undefined, firstRejected: undefined, unused: [] };
  return { ...unknown, rows, before: rows, stored, replaced, kept, rejected, stoppedBy: 'signal' };
}

function checkDimension(dimension: number | undefined, info: Info): void {
  if (dimension === undefined || dimension === info.dimension) return;
  throw new TransferError(
    `the file has vectors of ${dimension} values, and the service takes ${info.dimension}: a ` +
      `service with an empty folder takes them if it is started with DIMENSION=${dimension}`,
  );
}

/** A place in the source: so many points and rejects come before it. */
interface Mark {
  readonly rows: number;
  readonly points: number;
  readonly rejected: number;
  readonly rejectsBytes: number;
}

class Import {
  readonly #rejects: Rejects;
  /** Places behind which not all is acknowledged, oldest first. */
  readonly #marks: Mark[] = [];
  #position: Position;
  #points = 0;
  #rejected: number;
  /** When the state was written last. */
  #writtenAtMs = -Infinity;
  #stoppedBy: ImportSummary['stoppedBy'];
  #firstRejected: ImportSummary['firstRejected'];
  readonly #columns: Set<string>;
  /** Those of the vectors of another length. */
  readonly #lengths: number[] = [];
  #sampled = 0;

  constructor(
    private readonly source: Source,
    private readonly info: Info,
    private readonly options: ImportOptions,
    private readonly start: Position,
  ) {
    this.#position = start;
    this.#rejected = start.rejected;
    this.#rejects = new Rejects(options.rejectsPath, start.rejectsBytes);
    this.#columns = new Set(source.columns);
  }

  async to(client: Client): Promise<ImportSummary> {
    const { ifAbsent, window, patienceMs, state, stopping } = this.options;
    let total = NOTHING;
    // What a lost answer leaves open is found by the next try, so that an earlier state is no loss.
    const onProgress = (progress: BulkProgress): void => {
      total = progress;
      this.#acknowledged(progress);
    };
    try {
      total = await client.bulk(this.#pointsOf(), { ifAbsent, window, patienceMs, onProgress });
    } catch (error) {
      if (!stopping.aborted || !(error instanceof VectordError)) {
        const { rows } = this.#position;
        if (rows > 0) this.#writeState();
        if (rows === 0 || !(error instanceof VectordError)) throw error;
        const goesOn = `the same command goes on behind row ${rows}`;
        throw reworded(error, (message) => `${message}; ${goesOn}`);
      }
      this.#stoppedBy = 'signal';
    }
    this.#advance(total.leading);
    if (this.#stoppedBy === undefined) state.remove();
    else this.#writeState();
    return {
      ...this.#progress(),
      before: this.start.rows,
      stored: total.stored,
      replaced: total.replaced,
      kept: total.kept,
      firstRejected: this.#firstRejected,
      unused: [...this.#columns].filter((name) => !isMapped(this.options.mapping, name)),
      stoppedBy: this.#stoppedBy,
    };
  }

  close(): void {
    this.#rejects.close();
  }

  async *#pointsOf(): AsyncGenerator<NewPoint, void, undefined> {
    const { stopping } = this.options;
    let [last, sinceMark] = [this.start.rows, 0];
    for await (const row of untilAborted(this.source.rows(this.start.rows), stopping)) {
      if (row === undefined) {
        this.#stoppedBy = 'signal';
        break;
      }
      this.#sample(row);
      const point = this.#pointOf(row);
      if (this.#stoppedBy !== undefined) break;
      if (point !== undefined) {
        this.#points += 1;
        yield point;
      }
      [last, sinceMark] = [row.number, sinceMark + 1];
      if (sinceMark < MARK_EVERY_ROWS) continue;
      this.#mark(last);
      sinceMark = 0;
    }
    this.#mark(last);
  }

  #sample({ columns }: Row): void {
    if (this.#sampled === SAMPLED_ROWS) return;
    this.#sampled += 1;
    for (const name of Object.keys(columns)) this.#columns.add(name);
  }

  /** Nothing for a row that is rejected, or that is one too many of these. */
  #pointOf(row: Row): NewPoint | undefined {
    const { mapping, sourceName, maxRejects } = this.options;
    try {
      return pointOf(row, { mapping, sourceName, info: this.info });
    } catch (error) {
      if (!(error instanceof RowFault)) throw error;
      if (error instanceof LengthFault) this.#checkLength(error);
      if (this.#rejected >= maxRejects) this.#stoppedBy = 'rejects';
      else this.#reject(row, error);
      return undefined;
    }
  }

  /** Ends an import of which no row can be stored, before each of them is rejected. */
  #checkLength({ length }: LengthFault): void {
    if (this.#lengths.length === SAME_LENGTHS) return;
    this.#lengths.push(length);
    const isEach = this.#rejected + 1 === this.#lengths.length && this.#points === 0;
    if (!isEach || this.#lengths.length < SAME_LENGTHS || new Set(this.#lengths).size > 1) return;
    checkDimension(length, this.info);
  }

  #reject({ number }: Row, { message }: RowFault): void {
    this.#rejects.add(number, message);
    this.#firstRejected ??= { row: number, reason: message };
    this.#rejected += 1;
  }

  #mark(rows: number): void {
    const { bytes: rejectsBytes } = this.#rejects;
    this.#marks.push({ rows, points: this.#points, rejected: this.#rejected, rejectsBytes });
  }

  #acknowledged({ leading }: BulkProgress): void {
    this.#advance(leading);
    this.options.onProgress(this.#progress());
    const nowMs = performance.now();
    const isDue = nowMs - this.#writtenAtMs >= STATE_EVERY_MS;
    if (!isDue || this.#position.rows === this.start.rows) return;
    this.#writtenAtMs = nowMs;
    this.#writeState();
  }

  /** Moves on to the last place before which every point is acknowledged. */
  #advance(points: number): void {
    for (let mark = this.#marks[0]; mark !== undefined; mark = this.#marks[0]) {
      if (mark.points > points) return;
      const { rows, rejected, rejectsBytes } = mark;
      const stored = this.start.stored + mark.points;
      this.#position = { rows, stored, rejected, rejectsBytes };
      this.#marks.shift();
    }
  }

  /** The rejects that it speaks of are on the disk first. */
  #writeState(): void {
    this.#rejects.sync();
    this.options.state.write(this.#position);
  }

  #progress(): ImportProgress {
    const { rows } = this.#position;
    const { total } = this.source;
    const share = total === undefined ? this.source.share() : rows / Math.max(1, total);
    return { rows, rejected: this.#rejected, share };
  }
}
