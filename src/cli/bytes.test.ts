import { expect, test } from 'vitest';
import { formatBytes } from './bytes.js';

test.each([
  [0, '0 bytes'],
  [1023, '1023 bytes'],
  [1024, '1.0 KiB'],
  [5_000_000, '4.8 MiB'],
  [2 ** 30, '1.0 GiB'],
  [2 ** 50, '1024.0 TiB'],
])('%d bytes are shown as %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
