import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fromBase64, toBase64 } from './base64.js';

const anyBytes = fc.uint8Array({ maxLength: 70 });

test('bytes are written as Node.js does', () => {
  fc.assert(
    fc.property(anyBytes, (bytes) => {
      expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'));
    }),
  );
});

test('what was written is read, with padding or without', () => {
  fc.assert(
    fc.property(anyBytes, (bytes) => {
      const text = toBase64(bytes);
      expect(fromBase64(text)).toEqual(bytes);
      expect(fromBase64(text.replaceAll('=', ''))).toEqual(bytes);
    }),
  );
});
