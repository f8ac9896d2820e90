import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { messageOf } from '../core/start-error.js';
import { TransferError } from './transfer-error.js';

/** Enough to see whether a file is one of rejects. */
const BEGINNING_BYTES = 64;

/** The rows that were not stored, one object of JSON a line: its number, its id and the reason. */
export class Rejects {
  #file: number | undefined;
  #bytes: number;

  /** Goes on behind the first `bytes`, and drops what is behind them; with 0 it begins anew. */
  constructor(
    readonly path: string,
    bytes: number,
  ) {
    this.#bytes = bytes;
    checkOwn(path);
    if (bytes === 0) rmSync(path, { force: true });
    else this.#goOn(bytes);
  }

  #goOn(bytes: number): void {
    const file = this.#open();
    if (fstatSync(file).size >= bytes) ftruncateSync(file, bytes);
    else throw this.#missing();
  }

  #missing(): TransferError {
    return new TransferError(
      `${this.path} has not the rejected rows that an import which was cut off has written: put ` +
        'it back, or begin anew with --restart',
    );
  }

  /** Makes what was added durable. */
  sync(): void {
    if (this.#file !== undefined) fsyncSync(this.#file);
  }

  /** The length of the file so far. */
  get bytes(): number {
    return this.#bytes;
  }

  add(row: number, reason: string): void {
    const line = Buffer.from(`${JSON.stringify({ row, reason })}\n`);
    writeSync(this.#open(), line, 0, line.length, this.#bytes);
    this.#bytes += line.length;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #open(): number {
    try {
      this.#file ??= openSync(this.path, this.#bytes === 0 ? 'wx' : 'r+');
      return this.#file;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT' && this.#bytes > 0) {
        throw this.#missing();
      }
      throw new TransferError(
        `${this.path} cannot be written: ${messageOf(error)}. --rejects names another place`,
      );
    }
  }
}

/** Refuses a file that is something else: it would be lost. */
function checkOwn(path: string): void {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return;
  }
  try {
    const beginning = Buffer.alloc(BEGINNING_BYTES);
    const length = readSync(file, beginning);
    if (length === 0 || beginning.toString('utf8').startsWith('{"row":')) return;
  } finally {
    closeSync(file);
  }
  throw new TransferError(
    `${path} exists and holds something else than rejected rows: --rejects names another place`,
  );
}
