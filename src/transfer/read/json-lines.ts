import { messageOf } from '../../core/start-error.js';
import { exactJson } from '../exact-json.js';
import type { Row, Source } from '../row.js';
import { ByteReader } from './byte-reader.js';
import { linesOf, type Line } from './lines.js';

/** An object of JSON on each line; blank lines are passed over. */
export async function openJsonLines(path: string, isGzip: boolean): Promise<Source> {
  const reader = await ByteReader.open(path, isGzip);
  return {
    rows: (after) => rowsOf(path, reader, after),
    share: () => reader.share(),
    close: async () => await reader.close(),
  };
}

async function* rowsOf(path: string, reader: ByteReader, after: number): AsyncGenerator<Row> {
  for await (const line of linesOf(path, reader, after)) {
    if (line.text === undefined || line.text.trim() !== '') yield jsonRow(line);
  }
}

/** What a line of JSON holds: the members of an object. */
export function jsonRow({ number, text }: Line): Row {
  if (text === undefined) return faulty(number, 'the line is not in UTF-8');
  let value: unknown;
  try {
    value = exactJson(text);
  } catch (error) {
    return faulty(number, `the line is no JSON: ${withoutText(messageOf(error))}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return { number, columns: value as Row['columns'] };
  }
  return faulty(number, 'the line is not an object of JSON');
}

function faulty(number: number, fault: string): Row {
  return { number, columns: {}, fault };
}

/** Node.js quotes the text in its message, which may be long. */
function withoutText(message: string): string {
  return message.replace(/, (\.\.\.)?".*$/s, '').replace(/^(Unexpected token) .*$/s, '$1');
}
