import { Readable } from 'node:stream';
import { CsvError, parse, type Parser } from 'csv-parse';
import type { Row, Source } from '../row.js';
import { TransferError } from '../transfer-error.js';
import { ByteReader } from './byte-reader.js';

/** A quote that is never closed would take the rest of the file as one cell. */
const MAX_RECORD_BYTES = 64 * 1024 * 1024;

/** Comma-separated values as RFC 4180 has them, with the names of the columns in the first record. */
export async function openCsv(path: string, isGzip: boolean, delimiter: string): Promise<Source> {
  const reader = await ByteReader.open(path, isGzip);
  const parser = parse({
    delimiter,
    bom: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: MAX_RECORD_BYTES,
  });
  const bytes = Readable.from(checked(path, reader.chunks()), { objectMode: false });
  bytes.once('error', (error) => parser.destroy(error)).pipe(parser);
  const close = async (): Promise<void> => {
    parser.destroy();
    bytes.destroy();
    await reader.close();
  };
  try {
    const records = recordsOf(path, parser);
    const { value: columns } = await records.next();
    if (columns === undefined) throw new TransferError(`${path} is empty, expected a header`);
    checkNames(path, columns);
    return {
      columns,
      rows: (after) => rowsOf(records, columns, after),
      share: () => reader.share(),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Refuses what is not in UTF-8: the parser would put another character in its place. */
async function* checked(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const chunk of chunks) {
      decoder.decode(chunk, { stream: true });
      yield chunk;
    }
    decoder.decode();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new TransferError(`${path} is not in UTF-8, expected a file that is`);
  }
}

async function* rowsOf(
  records: AsyncIterable<readonly string[]>,
  names: readonly string[],
  after: number,
): AsyncGenerator<Row> {
  let number = 0;
  for await (const record of records) {
    number += 1;
    if (number <= after) continue;
    const columns = Object.fromEntries(names.map((name, at) => [name, record[at]]));
    const fault =
      record.length === names.length
        ? undefined
        : `${record.length} cells, expected ${names.length} by the header`;
    yield { number, columns, fault };
  }
}

async function* recordsOf(
  path: string,
  parser: Parser,
): AsyncGenerator<readonly string[], undefined, undefined> {
  try {
    for await (const record of parser) yield record as readonly string[];
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new TransferError(
      `${path} is no CSV around line ${String(error['lines'] ?? '?')} (${error.code}): ` +
        'what follows cannot be told apart, so mend it and begin again',
    );
  }
}

function checkNames(path: string, names: readonly string[]): void {
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice === undefined) return;
  throw new TransferError(`${path} has two columns "${twice}", expected each name once`);
}
