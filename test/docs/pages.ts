import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../examples/run.js';

/** A page of the documentation, by its path in the repository. */
export interface Page {
  readonly path: string;
  readonly text: string;
}

/** A block of code on a page. */
export interface Block {
  readonly language: string;
  readonly code: string;
  /** What the comment before it says of where it is run, or why it is not. */
  readonly mark: string | undefined;
}

const FOLDERS = [
  '.',
  'bench',
  'clients/python',
  'docs',
  'docs/decisions',
  'docs/performance',
  'examples',
  'examples/vortexdb',
];

/** All pages. */
export const PAGES: readonly Page[] = [
  ...FOLDERS.flatMap(pathsIn),
  'examples/demo/data/README.md',
].map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

/** Pages whose code users paste; those about benchmarks and decisions have commands of other kinds. */
export const USER_PAGES = PAGES.filter(
  ({ path }) =>
    /^(?:docs\/(?:performance\/)?)?[A-Z0-9]+\.md$/.test(path) && path !== 'CHANGELOG.md',
);

/** A comment alone on a line, an empty line, and a block of code. */
const BLOCK = /(?:^<!-- ((?:not )?run .*?) -->\n\n)?^```(\S*)\n(.*?)^```$/gms;

export function blocksOf({ text }: Page): Block[] {
  return Array.from(text.matchAll(BLOCK), ([, mark, language = '', code = '']) => ({
    language,
    code,
    mark,
  }));
}

function pathsIn(folder: string): string[] {
  const names = readdirSync(join(ROOT, folder)).filter((name) => name.endsWith('.md'));
  return names.map((name) => join(folder, name));
}
