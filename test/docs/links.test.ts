import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../examples/run.js';
import { PAGES, type Page } from './pages.js';

/** A link from a page to a file of the repository, or to a place in it. */
interface Link {
  readonly from: string;
  readonly file: string;
  /** The place in the page; empty for the page itself. */
  readonly anchor: string;
}

const links = PAGES.flatMap(linksOf);

test('the files that pages link to are there', () => {
  expect(links.length).toBeGreaterThan(250);
  expect(links.filter(({ file }) => !existsSync(join(ROOT, file)))).toEqual([]);
});

test('the places in pages that pages link to are there', () => {
  const anchors = new Map(PAGES.map((page) => [page.path, anchorsOf(page)]));
  const within = links.filter(({ anchor, file }) => anchor !== '' && file.endsWith('.md'));
  expect(within.length).toBeGreaterThan(50);
  expect(within.filter(({ file, anchor }) => !anchors.get(file)?.has(anchor))).toEqual([]);
});

test('the page that PyPI shows links to no file, which would not be there', () => {
  const path = 'clients/python/README.md';
  expect(PAGES.map((page) => page.path)).toContain(path);
  expect(links.filter(({ from, file }) => from === path && file !== path)).toEqual([]);
});

test('the README is short enough to be read', () => {
  const readme = PAGES.find(({ path }) => path === 'README.md');
  expect(Buffer.byteLength(readme?.text ?? '')).toBeLessThanOrEqual(9_000);
});

/** Links to files, without addresses. */
function linksOf({ path, text }: Page): Link[] {
  return Array.from(
    text.matchAll(/\]\(([^)#:]*)(?:#([^)]*))?\)/g),
    ([, target = '', anchor = '']) => ({
      from: path,
      file: target === '' ? path : join(dirname(path), target),
      anchor,
    }),
  );
}

/** What GitHub calls the headings of a page, and the places that are named by hand. */
function anchorsOf({ text }: Page): Set<string> {
  const headings = Array.from(text.matchAll(/^#+ (.*)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  const named = Array.from(text.matchAll(/<a id="([^"]*)">/g), ([, name = '']) => name);
  return new Set([...headings, ...named]);
}
