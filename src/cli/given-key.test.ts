import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { givenKey } from './given-key.js';

let folder = '';
let file = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vectord-key-'));
  file = join(folder, 'key');
  vi.stubEnv('VECTORD_KEY', 'of-the-variable');
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

test('the key is that of the file, else that of VECTORD_KEY, else none', () => {
  writeFileSync(file, 'of-the-file\n');
  expect(givenKey(file)).toEqual({ text: 'of-the-file', origin: file });
  expect(givenKey(undefined)).toEqual({ text: 'of-the-variable', origin: 'VECTORD_KEY' });
  vi.stubEnv('VECTORD_KEY', undefined);
  expect(givenKey(undefined)).toBeUndefined();
});

test.each([
  ['', 'is empty'],
  ['\n', 'is empty'],
  ['one\ntwo', 'holds more than a key'],
  ['{"keys": [{"key": "secret-text"}]}', 'holds more than a key'],
])('a file that holds %j is refused without a quote', (text, reason) => {
  writeFileSync(file, text);
  expect(() => givenKey(file)).toThrow(`${file} ${reason}`);
  expect(() => givenKey(file)).not.toThrow('secret-text');
});

test('a file that is missing and a variable that is empty are named', () => {
  expect(() => givenKey(file)).toThrow(`the key file ${file} cannot be read: ENOENT`);
  vi.stubEnv('VECTORD_KEY', '');
  expect(() => givenKey(undefined)).toThrow('VECTORD_KEY is empty');
});
