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

/** What Python writes of numbers that are none. */
const NO_JSON = /[:[,]\s*(NaN|-?Infinity)\s*[,\]}]/;

/** What a line of JSON holds: the members of an object. */
export function jsonRow({ number, text }: Line): Row {
  if (text === undefined) return faulty(number, 'the line is not in UTF-8');
  let value: unknown;
  try {
    value = exactJson(text);
  } catch (error) {
    const named = NO_JSON.exec(text)?.[1];
    const reason = named === undefined ? withoutText(messageOf(error)) : `it has ${named}`;
    return faulty(number, `the line is no JSON: ${reason}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const twice = keyGivenTwice(text, value);
    if (twice !== undefined) return faulty(number, `the key ${JSON.stringify(twice)} comes twice`);
    return { number, columns: value as Row['columns'] };
  }
  return faulty(number, 'the line is not an object of JSON');
}

/** A text, and whether it is the key of a member. */
const TEXTS = /"((?:[^"\\]+|\\.)*)"(\s*:)?/gs;

/** A key that one object of the text has twice, of which JSON.parse has kept the last. */
function keyGivenTwice(text: string, value: object): string | undefined {
  const texts = Array.from(text.matchAll(TEXTS));
  const given = texts.filter(([, , colon]) => colon !== undefined);
  const kept = keysOf(value);
  if (given.length === kept.length) return undefined;
  const keys = given.map(([, key = '']) => JSON.parse(`"${key}"`) as string);
  return keys.find((key) => countOf(key, keys) > countOf(key, kept));
}

/** The keys of an object and of those within it. */
function keysOf(value: object): string[] {
  const own = Array.isArray(value) ? [] : Object.keys(value);
  const members: readonly unknown[] = Object.values(value);
  // A vector has thousands of members, and none of them has keys.
  const inner = members.filter((member) => typeof member === 'object' && member !== null);
  return [...own, ...(inner as object[]).flatMap(keysOf)];
}

function countOf(key: string, keys: readonly string[]): number {
  return keys.filter((other) => other === key).length;
}

function faulty(number: number, fault: string): Row {
  return { number, columns: {}, fault };
}

/** Node.js quotes the text in its message, which may be long. */
function withoutText(message: string): string {
  return message.replace(/, (\.\.\.)?".*$/s, '').replace(/^(Unexpected token) .*$/s, '$1');
}
