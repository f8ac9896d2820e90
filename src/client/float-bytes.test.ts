import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bytesOf, floatsOf } from './float-bytes.js';

const anyFloats = fc.float32Array({ maxLength: 9 });

test('floats are little-endian bytes, wherever they lie', () => {
  fc.assert(
    fc.property(anyFloats, (floats) => {
      const part = Float32Array.of(1, ...floats, 2).subarray(1, -1);
      const view = new DataView(new ArrayBuffer(floats.length * 4));
      for (const [at, value] of floats.entries()) view.setFloat32(at * 4, value, true);
      expect(bytesOf(part)).toEqual(new Uint8Array(view.buffer));
    }),
  );
});

test('bytes give the same floats, wherever they lie, and nothing for a part of one', () => {
  fc.assert(
    fc.property(anyFloats, fc.integer({ min: 0, max: 3 }), (floats, rest) => {
      const bytes = Uint8Array.of(7, ...bytesOf(floats), ...Array<number>(rest).fill(7));
      expect(floatsOf(bytes.subarray(1))).toEqual(floats);
    }),
  );
});
