import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';

const FOLDER = new URL('../console/', import.meta.url);

const compress = promisify(gzip);

/** A file of the console as it is answered. */
export interface ConsoleFile {
  readonly plain: Buffer;
  readonly gzipped: Buffer;
  /** The same for both forms: they mean the same, and so it is a weak one. */
  readonly etag: string;
}

/** A reader of one file, which stays in memory once somebody has asked for it. */
export function consoleFile(name: string): () => Promise<ConsoleFile> {
  let file: Promise<ConsoleFile> | undefined;
  return async () => {
    file ??= read(name);
    return await file;
  };
}

async function read(name: string): Promise<ConsoleFile> {
  const plain = await readFile(new URL(name, FOLDER));
  const gzipped = await compress(plain, { level: constants.Z_BEST_COMPRESSION });
  const hash = createHash('sha256').update(plain).digest('base64url');
  return { plain, gzipped, etag: `W/"${hash}"` };
}
