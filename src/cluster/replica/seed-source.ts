import { readdirSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../core/start-error.js';
import { backupFolder, isDamage } from '../../engine/folder.js';
import {
  SeedAnswer,
  SeedQuestion,
  type SeedQuestion_Piece,
} from '../../gen/vectord/cluster/v1/cluster.js';
import type { Logger } from '../../observe/logger.js';
import { CopyFolder } from './copy-folder.js';

/** The folders of copies begin with this. */
const PREFIX = 'copy-';
/** The name that another node has given a copy. */
const NAME = /^[0-9a-f-]+$/;

/** A copy for which nobody has asked for so long is removed. */
const UNUSED_MS = 60_000;
const LOOK_MS = 10_000;

const LONGEST_PIECE = 1024 * 1024;
/** Names that a question has may be of any length. */
const LONGEST_FAULT = 1_000;
const ZEROS = Buffer.alloc(LONGEST_PIECE);
const NOTHING = new Uint8Array();

interface Copy {
  readonly folder: CopyFolder;
  /** The sizes of its files by their names; none while it is being made. */
  readonly files: Map<string, number>;
  fault: string;
  usedAtMs: number;
}

/**
 * Gives copies of the folder of this node's replica to nodes whose replicas need a log. A copy is
 * a backup: links where the file system has them, all of it verified, of one moment.
 */
export class SeedSource {
  /** By their names. */
  readonly #copies = new Map<string, Copy>();
  readonly #looking: NodeJS.Timeout;
  readonly #prefix: string;
  #damage: string | undefined;

  /**
   * @param dataPath where copies are made
   * @param folder the folder of the replica
   * @param mostBytes how many a piece has at most, to fit into a message
   */
  constructor(
    dataPath: string,
    private readonly folder: string,
    private readonly mostBytes: () => number,
    private readonly logger: Logger,
  ) {
    this.#prefix = join(dataPath, PREFIX);
    CopyFolder.removeAll(this.#prefix, logger);
    this.#looking = setInterval(() => this.#removeUnused(), LOOK_MS).unref();
  }

  /** The damage that was found as a copy was made. */
  get damage(): string | undefined {
    return this.#damage;
  }

  /** The answer to a question, which is encoded as this is. */
  async answer(bytes: Uint8Array): Promise<Uint8Array> {
    const none = { fault: '', files: [], piece: NOTHING };
    try {
      const answer = await this.#answer(SeedQuestion.decode(bytes));
      return SeedAnswer.encode({ ...none, ...answer }).finish();
    } catch (error) {
      const fault = messageOf(error).slice(0, LONGEST_FAULT);
      return SeedAnswer.encode({ ...none, fault }).finish();
    }
  }

  close(): void {
    clearInterval(this.#looking);
    for (const name of this.#copies.keys()) this.#remove(name);
  }

  async #answer({ copy: name, piece, isOver }: SeedQuestion): Promise<Partial<SeedAnswer>> {
    if (!NAME.test(name)) throw new Error(`${name} does not name a copy`);
    const copy = this.#copies.get(name);
    if (isOver) {
      this.#remove(name);
      return {};
    }
    if (piece === undefined) return this.#list(copy ?? this.#make(name), name);
    if (copy === undefined) throw new Error('the copy was removed, as nobody asked for it');
    copy.usedAtMs = performance.now();
    const bytes = Math.min(piece.bytes, this.mostBytes(), LONGEST_PIECE);
    return { piece: await readPiece(copy, { ...piece, bytes }) };
  }

  #list(copy: Copy, name: string): Partial<SeedAnswer> {
    copy.usedAtMs = performance.now();
    const { fault, files } = copy;
    // It is tried again where it is asked for again.
    if (fault !== '') this.#remove(name);
    return {
      fault,
      files: [...files].map(([file, size]) => ({ name: file, bytes: BigInt(size) })),
    };
  }

  #make(name: string): Copy {
    const folder = CopyFolder.make(this.#prefix, this.logger);
    const copy: Copy = { folder, files: new Map(), fault: '', usedAtMs: performance.now() };
    this.#copies.set(name, copy);
    this.logger.info({ copy: name }, 'making a copy of the replica for a node that needs it');
    this.#fill(copy).catch((error: unknown) => {
      copy.fault = messageOf(error);
      if (isDamage(error)) this.#damage = copy.fault;
      this.logger.warn({ copy: name, reason: copy.fault }, 'the copy of the replica has failed');
    });
    return copy;
  }

  async #fill({ folder: { replica }, files }: Copy): Promise<void> {
    await backupFolder(this.folder, replica, () => undefined);
    for (const file of readdirSync(replica)) files.set(file, statSync(join(replica, file)).size);
  }

  #removeUnused(): void {
    const oldestMs = performance.now() - UNUSED_MS;
    for (const [name, { files, fault, usedAtMs }] of this.#copies) {
      const isBeingMade = files.size === 0 && fault === '';
      if (!isBeingMade && usedAtMs < oldestMs) this.#remove(name);
    }
  }

  #remove(name: string): void {
    const copy = this.#copies.get(name);
    this.#copies.delete(name);
    copy?.folder.remove();
  }
}

async function readPiece(
  { folder, files }: Copy,
  { file, offset, bytes }: SeedQuestion_Piece,
): Promise<Uint8Array> {
  if (!files.has(file)) throw new Error(`the copy has no file ${file}`);
  const handle = await open(join(folder.replica, file));
  try {
    const buffer = Buffer.alloc(bytes);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, Number(offset));
    const piece = buffer.subarray(0, bytesRead);
    return piece.equals(ZEROS.subarray(0, bytesRead)) ? NOTHING : piece;
  } finally {
    await handle.close();
  }
}
