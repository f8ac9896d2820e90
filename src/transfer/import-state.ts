import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { messageOf } from '../core/start-error.js';
import { TransferError } from './transfer-error.js';

const VERSION = 1;

/** How far an import is: every row up to `rows` is stored or rejected. */
export interface Position {
  readonly rows: number;
  readonly stored: number;
  readonly rejected: number;
  /** The length of the file of rejects up to there. */
  readonly rejectsBytes: number;
}

export const START: Position = { rows: 0, stored: 0, rejected: 0, rejectsBytes: 0 };

/** What has to be the same for an import to go on: the files, the service and the mapping. */
export type Fingerprint = Readonly<Record<string, unknown>>;

/** A small file that lets an import that was cut off go on where it was. */
export class ImportState {
  constructor(
    private readonly path: string,
    private readonly fingerprint: Fingerprint,
  ) {}

  /**
   * Where the import goes on: the start if there is no file, or if an earlier import is to be
   * forgotten. A file that holds something else is refused in any case: it would be lost.
   */
  begin(isRestart: boolean): Position {
    let text: string;
    try {
      text = readFileSync(this.path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return START;
      throw new TransferError(`${this.path} cannot be read: ${messageOf(error)}`);
    }
    const state = stateOf(text);
    if (state === undefined) {
      throw new TransferError(
        `${this.path} exists and holds something else than the state of an import: --state names ` +
          'another place',
      );
    }
    if (isRestart) return START;
    const { version, ...found } = state.of;
    const expected = JSON.parse(JSON.stringify(this.fingerprint)) as Fingerprint;
    const other = Object.keys({ ...found, ...expected }).find(
      (name) => JSON.stringify(found[name]) !== JSON.stringify(expected[name]),
    );
    if (other === undefined && version === VERSION) return state.position;
    throw new TransferError(
      `${this.path} is of an import that was cut off, of which ${other ?? 'the version'} was ` +
        'another: give the same files, service and options to go on, or --restart to begin anew',
    );
  }

  /** Replaces the file whole, and is done once it is on the disk. */
  write(position: Position): void {
    const fresh = `${this.path}.new`;
    const of = { version: VERSION, ...this.fingerprint };
    try {
      // A link of that name is not followed.
      rmSync(fresh, { force: true });
      const file = openSync(fresh, 'wx', 0o600);
      try {
        writeSync(file, `${JSON.stringify({ of, position })}\n`);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      renameSync(fresh, this.path);
    } catch (error) {
      throw new TransferError(
        `${this.path} cannot be written: ${messageOf(error)}. --state names another place`,
      );
    }
  }

  remove(): void {
    rmSync(this.path, { force: true });
  }
}

interface State {
  readonly of: Fingerprint;
  readonly position: Position;
}

function stateOf(text: string): State | undefined {
  let state: Partial<State> | null;
  try {
    state = JSON.parse(text) as Partial<State> | null;
  } catch {
    return undefined;
  }
  const { of, position } = state ?? {};
  if (typeof of !== 'object' || typeof position !== 'object') return undefined;
  const names = Object.keys(START) as (keyof Position)[];
  const isWhole = names.every(
    (name) => Number.isSafeInteger(position[name]) && position[name] >= 0,
  );
  return isWhole ? { of, position } : undefined;
}
