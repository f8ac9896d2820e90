import { describe, expect, it } from 'vitest';
import { needsKey, isPlain, pathOf } from './path.js';

describe('pathOf', () => {
  it.each([
    ['/points', '/points'],
    ['/points?key=/health', '/points'],
    ['http://example.com/points?x', '/points'],
    ['HTTP://user@example.com:80/points/a', '/points/a'],
    ['http://example.com', ''],
    ['//example.com/points', '//example.com/points'],
    ['*', '*'],
    ['/%70oints', '/%70oints'],
  ])('takes the path of %s as it was sent', (target, path) => {
    expect(pathOf(target)).toBe(path);
  });
});

describe('needsKey', () => {
  it.each(['/points', '/points/', '/points/x', '/points/../health', '/points//', '/v1', '/v1/x'])(
    'demands a key at %s',
    (path) => expect(needsKey(path)).toBe(true),
  );

  it.each([
    '/',
    '/POINTS',
    '/pointsx',
    '/v1x',
    '/V1',
    '//points',
    '/health/../points',
    '/%70oints',
  ])('demands none at %s', (path) => expect(needsKey(path)).toBe(false));
});

describe('isPlain', () => {
  it.each(['/', '/points/search/batch', '/docs/openapi.yaml', '/a..b'])('accepts %s', (path) => {
    expect(isPlain(path)).toBe(true);
  });

  it.each(['/.', '/..', '/a/../b', '/a/./b', '/%2e', '/a%2Fb', '/a\\b', '/a;b', '/a#b', '*'])(
    'refuses %s',
    (path) => expect(isPlain(path)).toBe(false),
  );
});
