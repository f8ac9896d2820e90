import { isUtf8 } from 'node:buffer';
import type { Columns } from '../row.js';

/** Stands for a text whose bytes are no UTF-8: no other character takes the place of one. */
const NOT_UTF8 = Symbol('not in UTF-8');

/** The text that the bytes are, with the U+FEFF that it may begin with. */
export function textOf(bytes: Uint8Array): string | typeof NOT_UTF8 {
  if (!isUtf8(bytes)) return NOT_UTF8;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/** Why a row cannot be read that has such a text in a column, or in a list there. */
export function faultOf(columns: Columns): string | undefined {
  const bad = Object.keys(columns).find((name) => isBad(columns[name]));
  return bad === undefined ? undefined : `the column "${bad}" is not in UTF-8`;
}

function isBad(value: unknown): boolean {
  return value === NOT_UTF8 || (Array.isArray(value) && value.includes(NOT_UTF8));
}
