import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';

/** What a folder takes of its disk, and what is left there. */
export interface FolderSize {
  /** Space that its files take: files of the log are longer, with holes where nothing is yet. */
  readonly usedBytes: number;
  readonly availableBytes: number;
}

/** What `stat` counts space in, whatever the file system uses. */
const STAT_BLOCK_BYTES = 512;

/**
 * A disk with less free space is told as full, however large the folder is. A single server takes inserts
 * until nothing is left; a cluster keeps the rest for messages that are under way.
 */
export const LEAST_FREE_BYTES = 256 * 1024 * 1024;

export function isNearlyFull(leftBytes: number): boolean {
  return leftBytes < LEAST_FREE_BYTES;
}

/** Measures a folder for whoever asks; those who ask while it is being measured share the answer. */
export class FolderMeasure {
  #underWay: Promise<FolderSize | undefined> | undefined;

  constructor(private readonly path: string) {}

  /** Undefined where the system does not tell. */
  async size(): Promise<FolderSize | undefined> {
    this.#underWay ??= measure(this.path)
      .catch(() => undefined)
      .finally(() => (this.#underWay = undefined));
    return await this.#underWay;
  }
}

async function measure(path: string): Promise<FolderSize> {
  const left = await availableBytes(path);
  const sizes = (await readdir(path)).map((name) => usedBytes(join(path, name)));
  const all = await Promise.all(sizes);
  return { usedBytes: all.reduce((sum, bytes) => sum + bytes, 0), availableBytes: left };
}

/** What is left on the disk of a folder, in bytes. Rejects where the system does not tell. */
export async function availableBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}

async function usedBytes(path: string): Promise<number> {
  try {
    return (await stat(path)).blocks * STAT_BLOCK_BYTES;
  } catch {
    // Compaction removes files at any time.
    return 0;
  }
}
