import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { ID_NAMESPACE, idFor, InvalidArgumentError } from '../../src/client/node.js';
import { findProgram } from '../support/tools.mjs';

const OTHER = '6ba7b810-9dad-11d1-80b4-00c04fd430c8';

test('the id of a text stays as it is', () => {
  expect(idFor('doc-17')).toBe('6f0745c0-f4d4-577c-acfd-91009156e7ab');
  expect(idFor('')).toBe('696a1125-599e-56b1-8beb-cdc2adc1f675');
  expect(idFor('é')).toBe('fdd4f5fe-3bc0-5fd8-b15f-795453e5831d');
  expect(idFor('example.org', OTHER)).toBe('aad03681-8b63-5304-89e0-8ca8f49461b5');
});

const python = findProgram('python3');

test.skipIf(python === undefined)('it is that of the UUIDs of Python (needs python3)', () => {
  for (const text of ['doc-17', '', 'é', 'x'.repeat(1_000)]) {
    const script = 'import sys, uuid; print(uuid.uuid5(uuid.UUID(sys.argv[1]), sys.argv[2]))';
    const args = ['-c', script, ID_NAMESPACE, text];
    expect(execFileSync(python ?? '', args, { encoding: 'utf8' }).trim()).toBe(idFor(text));
  }
});

test.each([
  ['text is 5, expected a string', 5],
  ['text is undefined, expected a string', undefined],
  ['text has a half of a surrogate pair', '\ud800'],
])('what is no text has no id: %s', (message, wrong) => {
  const make = (): string => idFor(wrong as string);
  expect(make).toThrow(InvalidArgumentError);
  expect(make).toThrow(message);
});

test('a namespace that is no UUID is refused', () => {
  expect(() => idFor('x', 'names')).toThrow(TypeError);
});
