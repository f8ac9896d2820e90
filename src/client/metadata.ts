import { finite, isPlain, wrong } from './checks.js';
import { numberText } from './json-text.js';
import type { Metadata } from './model.js';

/**
 * Metadata in JSON. Unlike JSON.stringify it refuses numbers that JSON cannot hold, where that would
 * store null, keeps the sign of -0, and writes numbers beyond 2^53 as the service takes them. What
 * may not be in metadata besides is left to the service.
 */
export function metadataText(field: string, metadata: object): string {
  if (!isPlain(metadata)) throw wrong(field, metadata, 'a plain object, or null');
  const members: [string, unknown][] = Object.entries(metadata).filter(
    ([, value]) => value !== undefined,
  );
  const texts = members.map(([key, value]) => {
    const path = `${field}.${key}`;
    const isList = Array.isArray(value);
    const list = isList ? listOf(path, value) : [];
    return `${JSON.stringify(key)}:${isList ? `[${list.join(',')}]` : scalar(path, value)}`;
  });
  return `{${texts.join(',')}}`;
}

/** A hole is an item, too, which is undefined. */
function listOf(path: string, items: readonly unknown[]): string[] {
  return Array.from(items, (item, at) => scalar(`${path}[${at}]`, item));
}

function scalar(path: string, value: unknown): string {
  switch (typeof value) {
    case 'number':
      return numberText(finite(path, value));
    case 'string':
    case 'boolean':
      return JSON.stringify(value);
    default:
      if (value === null) return 'null';
      throw wrong(
        path,
        value,
        'a string, a boolean, a number, null, or an array of one kind of them',
      );
  }
}

/** The metadata of an answer; null where there is none. */
export function metadataOf(json: string | undefined): Metadata | null {
  return json === undefined ? null : (JSON.parse(json) as Metadata);
}
