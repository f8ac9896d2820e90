import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Random } from '../support/random.js';

const SOURCE = fileURLToPath(new URL('power.c', import.meta.url));

/** The kinds of entries that power.c writes. */
const OPENED = 1;
const CREATED = 2;
const WRITTEN = 3;
const SIZED = 4;
const SYNC_BEGUN = 5;
const SYNCED = 6;
const RENAMED = 7;
const REMOVED = 8;
const FOLDER_MADE = 9;
const FOUND = 10;
const FOUND_ALL = 11;
const ENTRY_BYTES = 32;

/** What a disk writes whole or not at all. */
const SECTOR_BYTES = 512;

/** Syncs that are forgotten, to see that this is found. */
export type Dropped = 'fdatasync' | 'folder';

/** What a power cut takes of that which was not synced: all, nothing, or some by chance. */
type Keep = () => boolean;

/** A file as a disk with a cache has it. */
interface CachedFile {
  durable: Buffer;
  /** Writes, and sizes where there are no bytes. */
  pending: { offset: number; bytes?: Buffer }[];
  /** How many of them a sync that has begun covers. */
  begun: number;
}

/** A change of names in a folder. */
interface NameChange {
  readonly removed?: string;
  readonly added?: readonly [string, CachedFile | 'folder'];
}

type Names = Map<string, CachedFile | 'folder'>;

/**
 * A folder whose files survive a power cut as far as they were synced. The process that runs in
 * `environment` works on real files; `cut` replaces them by what a disk would have kept.
 */
export class PowerCut {
  readonly folder: string;
  readonly #journal: string;
  readonly #library: string;
  #before: Names = new Map();

  /** Takes two new folders: one to be watched, one for what it takes to watch it. */
  constructor(folder: string, workshop: string) {
    this.folder = realpathSync(folder);
    this.#journal = join(workshop, 'journal');
    this.#library = join(workshop, 'power.so');
    const flags = ['-shared', '-fPIC', '-O2', '-Wall', '-Wextra', '-Werror'];
    execFileSync('cc', [...flags, '-o', this.#library, SOURCE, '-ldl', '-lpthread']);
    this.#begin();
  }

  /** For the processes whose calls count, one after the other. */
  environment(dropped?: Dropped): Record<string, string> {
    return {
      LD_PRELOAD: this.#library,
      POWER_FOLDER: this.folder,
      POWER_JOURNAL: this.#journal,
      ...(dropped === undefined ? {} : { POWER_DROP: dropped }),
    };
  }

  /** Cuts the power after all that was done so far. Returns how much of it was not synced. */
  cut(random: Random): number {
    const state = new Replay(this.#before);
    for (const entry of entriesOf(readFileSync(this.#journal))) state.play(entry);
    const share = random.pick([0, 0.1, 0.5, 0.9, 1]);
    const { left, unsynced } = state.lose(() => random.next() < share);
    for (const name of readdirSync(this.folder)) {
      rmSync(join(this.folder, name), { recursive: true });
    }
    for (const [path, content] of left) {
      if (content === 'folder') mkdirSync(path);
      else writeFileSync(path, content);
    }
    this.#begin();
    return unsynced;
  }

  /** What is there now is on the disk, and the journal goes on from here. */
  #begin(): void {
    writeFileSync(this.#journal, '');
    this.#before = new Map([[this.folder, 'folder'], ...namesBelow(this.folder)]);
  }
}

/** Whether processes can be watched here: it takes Linux and a C compiler. */
export function canCutPower(): boolean {
  if (process.platform !== 'linux') return false;
  const places = (process.env['PATH'] ?? '').split(':');
  return places.some((place) => existsSync(join(place, 'cc')));
}

function namesBelow(folder: string): [string, CachedFile | 'folder'][] {
  return readdirSync(folder).flatMap((name): [string, CachedFile | 'folder'][] => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return [[path, 'folder'], ...namesBelow(path)];
    return [[path, { durable: readFileSync(path), pending: [], begun: 0 }]];
  });
}

interface Entry {
  readonly kind: number;
  readonly file: bigint;
  readonly offset: number;
  readonly first: Buffer;
  readonly second: string;
}

/** The entries of a journal; the last may be torn. */
function* entriesOf(journal: Buffer): Generator<Entry> {
  let at = 0;
  while (at + ENTRY_BYTES <= journal.length) {
    const secondAt = at + ENTRY_BYTES + journal.readUInt32LE(at + 4);
    const end = secondAt + journal.readUInt32LE(at + 8);
    if (end > journal.length) return;
    yield {
      kind: journal.readUInt32LE(at),
      file: journal.readBigUInt64LE(at + 16),
      offset: Number(journal.readBigUInt64LE(at + 24)),
      first: journal.subarray(at + ENTRY_BYTES, secondAt),
      second: journal.toString('utf8', secondAt, end),
    };
    at = end;
  }
}

/** Plays what was done to a folder, and tells what of it was durable. */
class Replay {
  /** As the process sees them, and as they are on the disk. */
  readonly #names: Names;
  #durableNames: Names;
  #changes: NameChange[] = [];
  /** Those that a sync of a folder which has begun may cover. */
  #begun: readonly NameChange[] = [];
  /** The files and folders behind the inodes. */
  readonly #files = new Map<bigint, CachedFile | string>();
  /** The inodes of the files that a process found at its start, by name. */
  readonly #found = new Map<string, bigint>();

  constructor(before: Names) {
    this.#names = new Map(before);
    this.#durableNames = new Map(before);
  }

  play({ kind, file, offset, first, second }: Entry): void {
    switch (kind) {
      case OPENED:
        this.#open(file, first.toString());
        break;
      case CREATED:
        this.#change({
          added: [first.toString(), { durable: Buffer.alloc(0), pending: [], begun: 0 }],
        });
        this.#open(file, first.toString());
        break;
      case WRITTEN:
        this.#file(file).pending.push({ offset, bytes: Buffer.from(first) });
        break;
      case SIZED:
        this.#file(file).pending.push({ offset });
        break;
      case SYNC_BEGUN:
        this.#beginSync(file);
        break;
      case SYNCED:
        this.#endSync(file);
        break;
      case RENAMED: {
        const renamed = this.#names.get(first.toString());
        if (renamed === undefined) throw new Error(`a rename of ${first.toString()}`);
        this.#change({ removed: first.toString(), added: [second, renamed] });
        break;
      }
      case REMOVED:
        this.#change({ removed: first.toString() });
        break;
      case FOLDER_MADE:
        this.#change({ added: [first.toString(), 'folder'] });
        break;
      case FOUND:
        this.#found.set(first.toString(), file);
        break;
      case FOUND_ALL:
        this.#noticeChanges();
        break;
      default:
        throw new Error(`an entry of the kind ${kind}`);
    }
  }

  /** What is left when the power goes now, by ascending path, and how many changes hung upon it. */
  lose(keep: Keep): { left: [string, Buffer | 'folder'][]; unsynced: number } {
    let unsynced = this.#changes.length;
    for (const change of this.#changes.filter(keep)) apply(change, this.#durableNames);
    const left: [string, Buffer | 'folder'][] = [];
    for (const [path, content] of [...this.#durableNames].toSorted(([a], [b]) =>
      a < b ? -1 : 1,
    )) {
      const hasFolder = this.#durableNames.has(dirname(path));
      if (!hasFolder) continue;
      if (content === 'folder') left.push([path, content]);
      else {
        unsynced += content.pending.length;
        for (const change of content.pending) write(content, change, keep);
        left.push([path, content.durable]);
      }
    }
    return { left, unsynced };
  }

  #open(file: bigint, path: string): void {
    const opened = this.#names.get(path);
    if (opened === undefined) throw new Error(`${path} was opened and never made`);
    this.#files.set(file, opened === 'folder' ? path : opened);
  }

  /** What the process before has done to names, and was killed before it wrote it down. */
  #noticeChanges(): void {
    for (const [path, inode] of this.#found) {
      const named = this.#names.get(path);
      const file = this.#files.get(inode);
      const [from] = [...this.#names].find(([, other]) => other === file) ?? [];
      if (typeof file === 'object' && from !== undefined) {
        if (from !== path) this.#change({ removed: from, added: [path, file] });
      } else if (named === undefined) {
        this.#change({ added: [path, { durable: Buffer.alloc(0), pending: [], begun: 0 }] });
      }
      this.#open(inode, path);
    }
    for (const [path, content] of this.#names) {
      if (content !== 'folder' && !this.#found.has(path)) this.#change({ removed: path });
    }
    this.#found.clear();
  }

  #file(file: bigint): CachedFile {
    const found = this.#files.get(file);
    if (found === undefined || typeof found === 'string') throw new Error('a write to no file');
    return found;
  }

  #change(change: NameChange): void {
    apply(change, this.#names);
    this.#changes.push(change);
  }

  #beginSync(file: bigint): void {
    const found = this.#files.get(file);
    if (found === undefined) throw new Error('a sync of what was never opened');
    if (typeof found === 'string') this.#begun = [...this.#changes];
    else found.begun = found.pending.length;
  }

  #endSync(file: bigint): void {
    const found = this.#files.get(file);
    if (typeof found === 'string') {
      const synced = new Set(this.#begun.filter((change) => folderOf(change) === found));
      for (const change of synced) apply(change, this.#durableNames);
      this.#changes = this.#changes.filter((change) => !synced.has(change));
    } else if (found !== undefined) {
      for (const change of found.pending.splice(0, found.begun)) write(found, change, () => true);
      found.begun = 0;
    }
  }
}

function folderOf({ removed, added }: NameChange): string {
  return dirname(removed ?? added?.[0] ?? '');
}

function apply({ removed, added }: NameChange, names: Names): void {
  if (removed !== undefined) names.delete(removed);
  if (added !== undefined) names.set(...added);
}

/** Writes the sectors that are kept, or sets the size. */
function write(file: CachedFile, { offset, bytes }: CachedFile['pending'][0], keep: Keep): void {
  if (bytes === undefined) {
    if (keep()) file.durable = resized(file.durable, offset);
    return;
  }
  const end = offset + bytes.length;
  const firstSector = Math.floor(offset / SECTOR_BYTES) * SECTOR_BYTES;
  for (let sector = firstSector; sector < end; sector += SECTOR_BYTES) {
    if (!keep()) continue;
    const from = Math.max(sector, offset);
    const to = Math.min(sector + SECTOR_BYTES, end);
    if (to > file.durable.length) file.durable = resized(file.durable, to);
    bytes.copy(file.durable, from, from - offset, to - offset);
  }
}

function resized(content: Buffer, size: number): Buffer {
  const changed = Buffer.alloc(size);
  content.copy(changed, 0, 0, size);
  return changed;
}
