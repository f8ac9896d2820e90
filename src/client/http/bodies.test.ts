import { expect, test } from 'vitest';
import { upsertBody } from './bodies.js';

test('an upsert may have more points than a function may have arguments', () => {
  const bytes = new TextEncoder().encode('{}');
  const points = Array.from({ length: 200_000 }, () => ({ id: '', bytes }));
  const text = new TextDecoder().decode(upsertBody(points, true));
  expect(text.length).toBe('{"points":[],"if_absent":true}'.length + 3 * 200_000 - 1);
  expect(text.slice(0, 16)).toBe('{"points":[{},{}');
  expect(text.slice(-20)).toBe('{}],"if_absent":true}'.slice(-20));
});
