import { mkdirSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { syncFolder } from '../../config/data-folder.js';
import { inParallel } from '../../core/in-parallel.js';
import { messageOf } from '../../core/start-error.js';
import {
  SeedAnswer,
  SeedQuestion,
  type SeedAnswer_File,
} from '../../gen/vectord/cluster/v1/cluster.js';
import { availableBytes } from '../../observe/folder-size.js';
import type { Logger } from '../../observe/logger.js';
import { ENVELOPE_BYTES } from '../nats/message.js';
import type { Nats } from '../nats/nats.js';

const PIECE_BYTES = 256 * 1024;
const PIECES_AT_ONCE = 8;

/** How often a question without an answer is asked: servers and their leaders may change. */
const TRIES = 15;
const PAUSE_MS = 1_000;
/** A copy that is being made is asked for this often. */
const LOOK_MS = 250;
const PROGRESS_LINE_MS = 5_000;

/** The names of files in a data folder. */
const NAME = /^\w[\w.]*$/;

/** Fetches a copy of the folder of another replica, over NATS. */
export class SeedCopy {
  #doneBytes = 0;

  /**
   * @param subject where the other replica is asked
   * @param copy names the copy there
   */
  constructor(
    private readonly nats: Nats,
    private readonly subject: string,
    private readonly copy: string,
    private readonly logger: Logger,
  ) {}

  /** Makes the folder, with a whole, durable copy in it; rejects if it cannot. */
  async fetch(folder: string): Promise<void> {
    mkdirSync(folder, { mode: 0o700 });
    const files = await this.#files();
    const totalBytes = files.reduce((total, { bytes }) => total + Number(bytes), 0);
    await checkSpace(folder, totalBytes);
    const tell = (): void =>
      this.logger.info({ doneBytes: this.#doneBytes, totalBytes }, 'fetching the points');
    tell();
    const telling = setInterval(tell, PROGRESS_LINE_MS);
    try {
      for (const file of files) await this.#fetchFile(folder, file);
    } finally {
      clearInterval(telling);
    }
    syncFolder(folder);
    // If this message is lost, the other removes the copy by itself a little later.
    this.nats.send(this.subject, this.#question({ isOver: true }));
  }

  async #files(): Promise<SeedAnswer_File[]> {
    for (;;) {
      const { files } = await this.#ask({});
      if (files.length > 0) return files;
      await sleep(LOOK_MS);
    }
  }

  async #fetchFile(folder: string, { name, bytes }: SeedAnswer_File): Promise<void> {
    if (!NAME.test(name)) throw new Error(`${name} is not the name of a file of a data folder`);
    const size = Number(bytes);
    const file = await open(join(folder, name), 'wx', 0o600);
    try {
      await file.truncate(size);
      const step = Math.min(PIECE_BYTES, this.nats.maxPayload - ENVELOPE_BYTES);
      let next = 0;
      await inParallel(PIECES_AT_ONCE, async () => {
        if (next >= size) return false;
        const offset = next;
        next += step;
        await this.#fetchPiece(file, name, offset, Math.min(step, size - offset));
        return true;
      });
      await file.sync();
    } finally {
      await file.close();
    }
  }

  async #fetchPiece(file: FileHandle, name: string, offset: number, bytes: number): Promise<void> {
    const { piece } = await this.#ask({ piece: { file: name, offset: BigInt(offset), bytes } });
    if (piece.length > 0 && piece.length !== bytes) {
      throw new Error(
        `the other node has sent ${piece.length} bytes of ${name}, expected ${bytes}`,
      );
    }
    // Where nothing is written the file has zeros.
    if (piece.length > 0) await file.write(piece, 0, bytes, offset);
    this.#doneBytes += bytes;
  }

  #question(about: Partial<SeedQuestion>): Uint8Array {
    const question = { piece: undefined, isOver: false, ...about, copy: this.copy };
    return SeedQuestion.encode(question).finish();
  }

  async #ask(about: Partial<SeedQuestion>): Promise<SeedAnswer> {
    const answer = await this.#askAgain(this.#question(about));
    if (answer.fault !== '') throw new Error(answer.fault);
    return answer;
  }

  async #askAgain(bytes: Uint8Array): Promise<SeedAnswer> {
    for (let left = TRIES; ; left -= 1) {
      try {
        return SeedAnswer.decode(await this.nats.ask(this.subject, bytes));
      } catch (error) {
        if (left === 1) {
          throw new Error(`the node with the copy does not answer: ${messageOf(error)}`, {
            cause: error,
          });
        }
        await sleep(PAUSE_MS);
      }
    }
  }
}

async function checkSpace(folder: string, bytes: number): Promise<void> {
  const free = await availableBytes(folder);
  if (free >= bytes) return;
  throw new Error(
    `the points take ${bytes} bytes on the disk of ${folder}, which has ${free} left: free some space`,
  );
}
