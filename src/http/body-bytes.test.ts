import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BodyBytes } from './body-bytes.js';

test('the bytes of all chunks come back in their order, whatever the sizes of the chunks', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 40_000 }), { maxLength: 50 }), (lengths) => {
      const chunks = lengths.map((length, index) => Buffer.alloc(length, index));
      const body = new BodyBytes();
      for (const chunk of chunks) body.add(chunk);
      const all = Buffer.concat(chunks);
      expect(body.length).toBe(all.length);
      expect(body.all().equals(all)).toBe(true);
    }),
    { numRuns: 50 },
  );
});

test('a body of one chunk is not copied', () => {
  const body = new BodyBytes();
  const chunk = Buffer.from('{}');
  body.add(chunk);
  expect(body.all()).toBe(chunk);
});
