import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../examples/run.js';
import { PAGES, type Page } from './pages.js';

/** Commands that install a package of vectord from a registry, which has none yet. */
const FROM_REGISTRY =
  /\b(?:npx vectord|npm (?:install|i) (?:-\S+ )*"?vectord|pip install (?:-\S+ )*"?vectord-client)\b/;

const DEPLOYED: readonly Page[] = readdirSync(join(ROOT, 'deploy')).map((name) => {
  const path = join('deploy', name);
  return { path, text: readFileSync(join(ROOT, path), 'utf8') };
});

test('pages and files for deployment say of a package that is not published that it is not', () => {
  const unsaid = [...PAGES, ...DEPLOYED].flatMap(({ path, text }) =>
    partsOf(text)
      .filter((part, index, parts) => {
        const said = saysSo(part) || (isCode(part) && saysSo(parts[index - 1]));
        return FROM_REGISTRY.test(part) && !said;
      })
      .map((part) => `${path}: ${part}`),
  );
  expect(unsaid).toEqual([]);
});

test('such commands are recognized', () => {
  const commands = [
    'DIMENSION=4 npx vectord serve',
    'sudo npm install --global vectord@latest',
    'RUN npm install --global "vectord@${VERSION}"',
    'pip install "vectord-client[langchain]"',
  ];
  expect(commands.filter((command) => !FROM_REGISTRY.test(command))).toEqual([]);
  const others = ['npm install --ignore-scripts ../vectord', 'pip install ./clients/python'];
  expect(others.filter((command) => FROM_REGISTRY.test(command))).toEqual([]);
});

/** Paragraphs, items of lists, rows of tables, and blocks of code, whole; without comments. */
function partsOf(text: string): string[] {
  const code = /^ *```.*?^ *```$/gms;
  return text
    .replaceAll(/^ *<!--.*?-->$/gms, '')
    .replaceAll(code, (block) => block.replaceAll(/\n\s*\n/g, '\n'))
    .split(/\n\s*\n|\n(?=\s*(?:[-|]|\d+\.) )/)
    .filter((part) => part.trim() !== '');
}

function saysSo(part = ''): boolean {
  return /once it is published/i.test(part.replaceAll(/\s+/g, ' '));
}

function isCode(part: string): boolean {
  return part.trimStart().startsWith('```');
}
