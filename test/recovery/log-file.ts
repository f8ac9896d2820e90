import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { segmentsOf } from '../support/segments.js';

const BLOCK_BYTES = 64;
const OP_AT = 4;
const NOOP = 3;

/** A file of the log, for whoever wants to harm it. The format is described in docs/FORMAT.md. */
export class LogFile {
  private constructor(readonly path: string) {}

  /** The segment of a data folder that has only one. */
  static only(dataPath: string): LogFile {
    const paths = segmentsOf(dataPath);
    if (paths.length !== 1) throw new Error(`${paths.length} segments, expected one`);
    return new LogFile(paths[0] ?? '');
  }

  /** The one segment that holds these bytes. */
  static holding(dataPath: string, bytes: Uint8Array): LogFile {
    const logs = segmentsOf(dataPath).map((path) => new LogFile(path));
    const [log, ...others] = logs.filter(({ path }) => readFileSync(path).indexOf(bytes) !== -1);
    if (log === undefined || others.length > 0) {
      throw new Error(`the bytes are in ${others.length + Number(log !== undefined)} segments`);
    }
    return log;
  }

  /** Where these bytes are; they must be there exactly once. */
  find(bytes: Uint8Array): number {
    const content = readFileSync(this.path);
    const offset = content.indexOf(bytes);
    if (offset === -1 || content.indexOf(bytes, offset + 1) !== -1) {
      throw new Error(`the bytes are not in ${this.path}, or more than once`);
    }
    return offset;
  }

  /** Behind the last block that is not all zeros: the log fills up a file of a fixed size. */
  end(): number {
    const content = readFileSync(this.path);
    let last = content.length - 1;
    while (last >= 0 && content[last] === 0) last -= 1;
    return Math.ceil((last + 1) / BLOCK_BYTES) * BLOCK_BYTES;
  }

  /** Whether the last record is the one that proves all before it to have been on disk. */
  isProven(): boolean {
    return readFileSync(this.path)[this.end() - BLOCK_BYTES + OP_AT] === NOOP;
  }

  flipBit(offset: number): void {
    const byte = readFileSync(this.path)[offset] ?? 0;
    this.write(offset, Uint8Array.of(byte ^ 0x10));
  }

  /** What a write that was cut short leaves behind the last group. */
  appendGarbage(): void {
    this.write(this.end(), new Uint8Array(1000).fill(0xa5));
  }

  write(offset: number, bytes: Uint8Array): void {
    const file = openSync(this.path, 'r+');
    try {
      writeSync(file, bytes, 0, bytes.length, offset);
    } finally {
      closeSync(file);
    }
  }
}
