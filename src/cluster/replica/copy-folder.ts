import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { syncFolder, writeDurably } from '../../config/data-folder.js';
import { messageOf } from '../../core/start-error.js';
import type { Logger } from '../../observe/logger.js';

/** A file in each of them, which says that it is ours to remove. */
const MARKER = 'MADE-BY-VECTORD';
const MARKER_TEXT = 'A copy of the points of a node of the cluster. vectord removes it.\n';

/** A folder for a copy of a replica, of a name that nothing else has. */
export class CopyFolder {
  private constructor(
    private readonly path: string,
    private readonly logger: Logger,
  ) {}

  /** @param prefix a path, to which some letters are added */
  static make(prefix: string, logger: Logger): CopyFolder {
    const made = new CopyFolder(mkdtempSync(prefix), logger);
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
      if (isOurs(folder)) new CopyFolder(folder, logger).remove();
      else logger.warn({ folder }, 'left as it is: nothing says that vectord has made it');
    }
  }

  /** The folder of the copy itself, beside the marker. */
  get replica(): string {
    return join(this.path, 'replica');
  }

  /** The marker last: what is left where that fails is still ours. That ends nothing, and is logged. */
  remove(): void {
    try {
      for (const path of [this.replica, this.path]) {
        // Tried again where the copy is being made still.
        rmSync(path, { recursive: true, force: true, maxRetries: 3 });
      }
    } catch (error) {
      const reason = messageOf(error);
      this.logger.warn({ folder: this.path, reason }, 'a copy of points cannot be removed');
    }
  }
}

function isOurs(folder: string): boolean {
  try {
    // After a power cut the marker may be empty, and there is nothing else yet.
    if (readdirSync(folder).join() === MARKER) return true;
    return readFileSync(join(folder, MARKER), 'utf8') === MARKER_TEXT;
  } catch {
    return false;
  }
}
