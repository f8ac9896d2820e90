import { isUtf8 } from 'node:buffer';
import { TransferError } from '../transfer-error.js';
import { ByteReader } from './byte-reader.js';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** A vector of 65,536 values and the longest content take less; a file without lines is not held. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

export interface Line {
  /** Counts from 1 on. */
  readonly number: number;
  /** Undefined if the bytes are no UTF-8. */
  readonly text: string | undefined;
}

/** The lines behind the first `after`, without their ends. */
export async function* linesOf(
  path: string,
  reader: ByteReader,
  after: number,
): AsyncGenerator<Line, void, undefined> {
  let number = 0;
  let parts: Buffer[] = [];
  let length = 0;
  const lineOf = (end: Buffer): Line => {
    const bytes = parts.length === 0 ? end : Buffer.concat([...parts, end]);
    parts = [];
    length = 0;
    return { number, text: textOf(bytes, number === 1) };
  };
  for await (const chunk of reader.chunks()) {
    let start = 0;
    for (let end = 0; (end = chunk.indexOf(LINE_FEED, start)) !== -1; start = end + 1) {
      number += 1;
      if (number > after) {
        yield lineOf(chunk.subarray(start, end));
        continue;
      }
      parts = [];
      length = 0;
    }
    const rest = chunk.subarray(start);
    length += rest.length;
    if (length > MAX_LINE_BYTES) {
      throw new TransferError(`${path}: line ${number + 1} is longer than ${MAX_LINE_BYTES} bytes`);
    }
    if (rest.length > 0) parts.push(rest);
  }
  number += 1;
  if (length > 0 && number > after) yield lineOf(Buffer.alloc(0));
}

/** How many lines a file has that is not packed. */
export async function countLines(path: string): Promise<number> {
  const reader = await ByteReader.open(path, false);
  try {
    let count = 0;
    let isEnded = true;
    for await (const chunk of reader.chunks()) {
      for (let end = 0; (end = chunk.indexOf(LINE_FEED, end)) !== -1; end += 1) count += 1;
      isEnded = chunk.at(-1) === LINE_FEED;
    }
    return isEnded ? count : count + 1;
  } finally {
    await reader.close();
  }
}

function textOf(bytes: Buffer, isFirst: boolean): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  const end = bytes.at(-1) === CARRIAGE_RETURN ? bytes.length - 1 : bytes.length;
  const text = bytes.toString('utf8', 0, end);
  return isFirst ? text.replace(/^\uFEFF/, '') : text;
}
