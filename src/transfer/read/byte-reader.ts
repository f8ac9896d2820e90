import { createReadStream } from 'node:fs';
import { open, stat, type FileHandle } from 'node:fs/promises';
import { createGunzip } from 'node:zlib';
import { pipeline } from 'node:stream';
import { messageOf } from '../../core/start-error.js';
import { TransferError } from '../transfer-error.js';

/** Read at one time: enough for the disk, little in memory. */
const CHUNK_BYTES = 1024 * 1024;

const NOTHING = Buffer.alloc(0);

/** The bytes of a file, unpacked if it is in gzip, from the front to the end. */
export class ByteReader {
  #chunk: Buffer = NOTHING;
  /** Where in the file, as it lies on the disk, the next chunk begins. */
  #position = 0;

  private constructor(
    private readonly path: string,
    private readonly file: FileHandle,
    readonly size: number,
    private readonly unpacked: Unpacked | undefined,
  ) {}

  static async open(path: string, isGzip: boolean): Promise<ByteReader> {
    try {
      // To open a pipe would wait for whoever writes to it.
      const stats = await stat(path);
      if (!stats.isFile()) throw new TransferError(`${path} is no file`);
      const file = await open(path);
      return new ByteReader(path, file, stats.size, isGzip ? unpack(path) : undefined);
    } catch (error) {
      if (error instanceof TransferError) throw error;
      throw new TransferError(`${path} cannot be read: ${messageOf(error)}`);
    }
  }

  /** The next so many bytes, valid until the next call; undefined at the end of the file. */
  async take(count: number): Promise<Buffer | undefined> {
    const parts: Buffer[] = [];
    let missing = count;
    while (missing > 0) {
      // oxlint-disable-next-line no-await-in-loop -- one chunk after the other
      if (this.#chunk.length === 0 && !(await this.#fill())) break;
      const part = this.#chunk.subarray(0, missing);
      this.#chunk = this.#chunk.subarray(part.length);
      missing -= part.length;
      parts.push(part);
    }
    if (missing === 0) return parts.length === 1 ? parts[0] : Buffer.concat(parts);
    if (missing === count) return undefined;
    throw new TransferError(`${this.path} ends in the middle of a vector: it was cut off`);
  }

  /** Passes over so many bytes. */
  async skip(count: number): Promise<void> {
    let left = count;
    while (left > this.#chunk.length) {
      left -= this.#chunk.length;
      this.#chunk = NOTHING;
      if (this.unpacked === undefined) {
        this.#position += left;
        return;
      }
      // oxlint-disable-next-line no-await-in-loop -- one chunk after the other
      if (!(await this.#fill())) return;
    }
    this.#chunk = this.#chunk.subarray(left);
  }

  /** What is left, chunk by chunk. */
  async *chunks(): AsyncGenerator<Buffer, void, undefined> {
    // oxlint-disable-next-line no-await-in-loop -- one chunk after the other
    while (this.#chunk.length > 0 || (await this.#fill())) {
      const chunk = this.#chunk;
      this.#chunk = NOTHING;
      yield chunk;
    }
  }

  /** How much of the file was read, from 0 to 1. */
  share(): number {
    const read = this.unpacked?.bytesRead() ?? this.#position;
    return this.size === 0 ? 1 : Math.min(1, read / this.size);
  }

  async close(): Promise<void> {
    this.unpacked?.close();
    await this.file.close();
  }

  async #fill(): Promise<boolean> {
    try {
      this.#chunk = await (this.unpacked === undefined ? this.#read() : this.unpacked.next());
    } catch (error) {
      throw new TransferError(`${this.path} cannot be read: ${messageOf(error)}`);
    }
    return this.#chunk.length > 0;
  }

  async #read(): Promise<Buffer> {
    const target = Buffer.allocUnsafe(CHUNK_BYTES);
    const { bytesRead } = await this.file.read(target, 0, CHUNK_BYTES, this.#position);
    this.#position += bytesRead;
    return target.subarray(0, bytesRead);
  }
}

interface Unpacked {
  /** Of the file, as it lies on the disk. */
  bytesRead(): number;
  /** The next chunk; an empty one at the end. */
  next(): Promise<Buffer>;
  close(): void;
}

function unpack(path: string): Unpacked {
  const source = createReadStream(path, { highWaterMark: CHUNK_BYTES });
  // A failure of either is thrown where the chunks are read.
  const unpacked = pipeline(source, createGunzip({ chunkSize: CHUNK_BYTES }), () => {});
  const chunks = unpacked[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  return {
    bytesRead: () => source.bytesRead,
    async next() {
      const { done, value } = await chunks.next();
      return done === true ? NOTHING : value;
    },
    close() {
      source.destroy();
      // It may have all of the file already, and more in it than anybody waits for.
      unpacked.destroy();
    },
  };
}
