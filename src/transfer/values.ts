import { floatsOf } from '../client/float-bytes.js';
import { exactJson, isBeyondDouble } from './exact-json.js';
import { valueColumns, type Mapping, type MetadataColumn, type OnNan } from './mapping.js';
import type { Columns } from './row.js';
import { RowFault } from './transfer-error.js';

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** The vector of a row: in one column, or in a column for each value. */
export function vectorIn(columns: Columns, { vector, vectorColumns }: Mapping): Float32Array {
  if (vectorColumns === undefined) return vectorOf(columns[vector]);
  const names = valueColumns(vectorColumns, Object.keys(columns));
  return floatsFrom(names.map((name) => columns[name]));
}

/** The values of a vector: an array, an array of JSON as text, or base64 of 32-bit floats. */
function vectorOf(value: unknown): Float32Array {
  if (value instanceof Float32Array) return value;
  if (Array.isArray(value)) return floatsFrom(value);
  if (ArrayBuffer.isView(value) && Symbol.iterator in value) {
    return floatsFrom(Array.from(value as Iterable<unknown> & ArrayBufferView));
  }
  if (typeof value !== 'string') {
    throw new RowFault(value == null ? 'has no vector' : `the vector is ${kindOf(value)}`);
  }
  const text = value.trim();
  if (/^\[.*\]$|^\{.*\}$/s.test(text)) return floatsFrom(itemsOf(text));
  const bytes = Buffer.from(text, 'base64');
  if (BASE64.test(text) && bytes.length % 4 === 0) return floatsOf(bytes);
  throw new RowFault(
    text === ''
      ? 'has no vector'
      : 'the vector is neither a list, such as [0.1, 0.2], nor base64 of floats',
  );
}

/** The items of a list: of JSON, of an array of PostgreSQL, or as pandas writes arrays of NumPy. */
function itemsOf(list: string): unknown {
  try {
    if (list.startsWith('[')) return JSON.parse(list);
  } catch {
    // NumPy has no commas.
  }
  const inner = list.slice(1, -1).trim();
  // Not both: a comma between spaces may be that of a decimal fraction.
  const items = inner === '' ? [] : inner.split(inner.includes(',') ? /\s*,\s*/ : /\s+/);
  if (items.includes('...')) {
    throw new RowFault(
      'the vector is cut short by "...": write it by json.dumps(vector.tolist()), since NumPy leaves ' +
        'out what lies in the middle',
    );
  }
  return items;
}

function floatsFrom(values: unknown): Float32Array {
  if (!Array.isArray(values)) throw new RowFault('the vector is no array');
  const floats = new Float32Array(values.length);
  for (let at = 0; at < values.length; at += 1) floats[at] = numberOf(values[at], `vector[${at}]`);
  return floats;
}

/** A number in a text, which Number() would also read in other bases. */
const DECIMAL = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|Infinity)$/i;

function numberOf(value: unknown, what: string): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'string' && DECIMAL.test(value.trim())) return Number(value);
  throw new RowFault(`${what} is ${kindOf(value)}, expected a number`);
}

/** The text of a content or an id; nothing where the cell is empty. */
export function textOf(value: unknown, what: string): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    // It has lost its last digits already.
    throw new RowFault(`${what} is a whole number beyond 2^53: give it as a text`);
  }
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') {
    return String(value);
  }
  if (typeof value !== 'string') throw new RowFault(`${what} is ${kindOf(value)}, expected text`);
  if (value.isWellFormed()) return value;
  throw new RowFault(`${what} has a half of a surrogate pair, expected well-formed Unicode`);
}

/** The value of a field of metadata; undefined for an empty cell, which leaves the field out. */
export function fieldOf({ name, type }: MetadataColumn, value: unknown, nan: OnNan): unknown {
  if (value === undefined || value === null || value === '') return undefined;
  const text = String(value);
  if (isNan(value, type)) {
    if (nan === 'empty') return undefined;
    throw new RowFault(`${name} is NaN, expected a number: --nan empty leaves such cells out`);
  }
  switch (type) {
    case undefined:
      return plainOf(name, value);
    case 'text':
      return text;
    case 'number':
      if (typeof value !== 'number' && isBeyondDouble(text)) throw beyondDouble(name);
      return numberOf(value, name);
    case 'boolean':
      if (/^(true|false)$/i.test(text)) return text.toLowerCase() === 'true';
      throw new RowFault(`${name} is neither true nor false`);
    case 'json':
      return plainOf(name, typeof value === 'string' ? jsonOf(value, name) : value);
  }
}

/** Whether a cell is what pandas, Polars and DuckDB write where a column of numbers has none. */
function isNan(value: unknown, type: MetadataColumn['type']): boolean {
  if (typeof value === 'number') return Number.isNaN(value);
  return type === 'number' && typeof value === 'string' && /^[+-]?nan$/i.test(value.trim());
}

/** A value as JSON has it: Parquet and Arrow have 64-bit whole numbers and typed lists, too. */
export function plainOf(name: string, value: unknown): unknown {
  if (typeof value === 'bigint') {
    if (isBeyondDouble(String(value))) throw beyondDouble(name);
    return Number(value);
  }
  if (ArrayBuffer.isView(value) && Symbol.iterator in value) {
    return plainOf(name, Array.from(value as Iterable<unknown> & ArrayBufferView));
  }
  return Array.isArray(value) ? value.map((item) => plainOf(name, item)) : value;
}

/** What the service refuses, too: it would not come back as it was. */
function beyondDouble(name: string): RowFault {
  return new RowFault(
    `${name} is a whole number beyond 2^53: give it as a text, as --metadata-columns NAME:text does`,
  );
}

export function jsonOf(text: string, what: string): unknown {
  try {
    return exactJson(text);
  } catch {
    throw new RowFault(`${what} is no JSON`);
  }
}

/** What a value is, without what it holds. */
function kindOf(value: unknown): string {
  if (value === undefined || value === null || value === '') return 'missing';
  if (typeof value === 'string') return 'a text';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
