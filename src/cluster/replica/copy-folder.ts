import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { syncFolder, writeDurably } from '../../config/data-folder.js';
import type { Logger } from '../../observe/logger.js';

/** A file in each of them, which says that it is ours to remove. */
const MARKER = 'MADE-BY-VECTORD';
const MARKER_TEXT = 'A copy of the points of a node of the cluster. vectord removes it.\n';

/** A folder for a copy of a replica, of a name that nothing else has. */
export class CopyFolder {
  private constructor(private readonly path: string) {}

  /** @param prefix a path, to which some letters are added */
  static make(prefix: string): CopyFolder {
    const made = new CopyFolder(mkdtempSync(prefix));
    try {
      writeDurably(join(made.path, MARKER), MARKER_TEXT);
      syncFolder(made.path);
      syncFolder(dirname(made.path));
      return made;
    } catch (error) {
      made.remove();
      throw error;
    }
  }

  /** Removes those that an earlier process has left, and nothing of others whose names are similar. */
  static removeAll(prefix: string, logger: Logger): void {
    const parent = dirname(prefix);
    const left = readdirSync(parent).filter((name) => name.startsWith(basename(prefix)));
    for (const folder of left.map((name) => join(parent, name))) {
      if (isOurs(folder)) new CopyFolder(folder).remove();
      else logger.warn({ folder }, 'left as it is: nothing says that vectord has made it');
    }
  }

  /** The folder of the copy itself, beside the marker. */
  get replica(): string {
    return join(this.path, 'replica');
  }

  /** The marker last: what is left where that fails is still ours. */
  remove(): void {
    for (const path of [this.replica, this.path]) {
      // Tried again where the copy is being made still.
      rmSync(path, { recursive: true, force: true, maxRetries: 3 });
    }
  }
}

function isOurs(folder: string): boolean {
  try {
    // After a power cut the marker may be empty or missing, and there is nothing else yet.
    if (readdirSync(folder).every((name) => name === MARKER)) return true;
    return readFileSync(join(folder, MARKER), 'utf8') === MARKER_TEXT;
  } catch {
    return false;
  }
}
