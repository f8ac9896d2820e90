import { finite, wrong } from './checks.js';
import type { Metadata } from './model.js';

/**
 * Metadata in JSON. Unlike JSON.stringify it refuses numbers that JSON cannot hold, where that would
 * store null, and keeps the sign of -0. What may not be in metadata besides is left to the service.
 */
export function metadataText(field: string, metadata: Metadata): string {
  if (typeof metadata !== 'object' || Array.isArray(metadata)) {
    throw wrong(field, metadata, 'an object, or null');
  }
  const members = Object.entries(metadata).filter(([, value]) => value !== undefined);
  const texts = members.map(([key, value]) => {
    const path = `${field}.${key}`;
    const isList = Array.isArray(value);
    const list = isList ? value.map((item: unknown, at) => scalar(`${path}[${at}]`, item)) : [];
    return `${JSON.stringify(key)}:${isList ? `[${list.join(',')}]` : scalar(path, value)}`;
  });
  return `{${texts.join(',')}}`;
}

function scalar(path: string, value: unknown): string {
  switch (typeof value) {
    case 'number':
      return Object.is(finite(path, value), -0) ? '-0' : String(value);
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
