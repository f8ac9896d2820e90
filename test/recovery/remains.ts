import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ENTRIES_AT = 40;
const ENTRY_BYTES = 56;
const CHECKSUM_BYTES = 4;

const PAGE_BYTES = 4096;
const KIND_AT = 68;
const COMPACTED = 1;

/** What is under way in a data folder, or was when its process ended. See docs/FORMAT.md. */
export interface Remains {
  /** A snapshot is half written. */
  readonly snapshot: boolean;
  /** A compacted file does not count yet, or those that it has replaced are still there. */
  readonly compaction: boolean;
  /** A new file of the log does not count yet. */
  readonly rotation: boolean;
}

/** Looks at the files alone, so that it can be asked while a process has the folder open. */
export function remainsIn(dataPath: string): Remains {
  const named = namedSegments(dataPath);
  const logs = namesIn(dataPath, '.log').filter((name) => !named.has(Number.parseInt(name, 10)));
  const kinds = new Set(logs.map((name) => kindOf(join(dataPath, name))));
  return {
    snapshot: existsSync(join(dataPath, 'SNAPSHOT.tmp')),
    compaction: kinds.has('compacted'),
    rotation: kinds.has('empty'),
  };
}

/** How many snapshots were ever finished, and how many compacted files count now. */
export function countsOf(dataPath: string): { snapshots: number; compacted: number } {
  const numbers = namesIn(dataPath, '.snapshot').map((name) => Number.parseInt(name, 10));
  const kinds = namesIn(dataPath, '.log').map((name) => read(join(dataPath, name), KIND_AT + 1));
  return {
    snapshots: Math.max(0, ...numbers),
    compacted: kinds.filter((header) => header[KIND_AT] === COMPACTED).length,
  };
}

function namesIn(dataPath: string, ending: string): string[] {
  return readdirSync(dataPath).filter((name) => name.endsWith(ending));
}

/** The numbers of the segments in the manifest; none if there is no manifest. */
function namedSegments(dataPath: string): ReadonlySet<number> {
  const manifest = read(join(dataPath, 'MANIFEST'));
  const numbers = new Set<number>();
  for (let at = ENTRIES_AT; at + CHECKSUM_BYTES < manifest.length; at += ENTRY_BYTES) {
    numbers.add(manifest.readUInt32LE(at));
  }
  return numbers;
}

/** A segment with data that no manifest names is from a compaction, on either side of it. */
function kindOf(path: string): 'compacted' | 'empty' {
  const content = read(path);
  const isEmpty = content.subarray(PAGE_BYTES).every((byte) => byte === 0);
  return content[KIND_AT] === COMPACTED || !isEmpty ? 'compacted' : 'empty';
}

/** A file may go while one looks at it. */
function read(path: string, length?: number): Buffer {
  try {
    return readFileSync(path).subarray(0, length);
  } catch {
    return Buffer.alloc(0);
  }
}
