import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { faultsOf } from './faults.mjs';
import { readProgram } from './typescript-modules.mjs';

function programOf(files) {
  const folder = mkdtempSync(join(tmpdir(), 'program-'));
  try {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    return readProgram(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const B = 'export type Thing = 1;\nexport const thing = 1;\n';
const USE = "import { thing } from '../b/b.js';";

test.each([
  ['an import', USE],
  ['an import of a type', "import type { Thing } from '../b/b.js';"],
  ['an import of several lines', "import {\n  thing,\n  type Thing,\n} from '../b/b.js';"],
  ['an import of all', "import * as b from '../b/b.js';"],
  ['an import for its effects', "import '../b/b.js';"],
  ['an import in code', "const { thing } = await import('../b/b.js');"],
  ['a type in code', "type Thing = import('../b/b.js').Thing;"],
  ['an export', "export { thing } from '../b/b.js';"],
  ['code behind slashes in a string', `const url = 'http://x'; ${USE}`],
  ['code behind slashes in a template', `const url = \`//\${x}\`; ${USE}`],
  ['code behind a quote in a comment', `// it's\n${USE}`],
])('a use is found in %s', (_, text) => {
  const uses = programOf({ 'a/a.ts': text, 'b/b.ts': B });
  expect(uses.get('a::a.ts')).toEqual(new Set(['b::b.ts']));
});

test.each([
  ['a comment', `// ${USE}`],
  ['a comment of several lines', `/*\n${USE}\n*/`],
  ['an import of a package', "import { thing } from 'b/b.js';"],
  ['an import from elsewhere', "import { thing } from '../../b/b.js';"],
])('no use is found in %s', (_, text) => {
  const uses = programOf({ 'a/a.ts': text, 'b/b.ts': B });
  expect(uses.get('a::a.ts')).toEqual(new Set());
});

test('a use is found in and of a file with elements', () => {
  const of = "import { b } from '../b/b.js';\nexport const a = <p>{b}</p>;";
  const uses = programOf({ 'a/a.tsx': of, 'b/b.tsx': 'export const b = <b />;' });
  expect(uses.get('a::a.tsx')).toEqual(new Set(['b::b.tsx']));
});

test('a test is no part of the program', () => {
  const uses = programOf({ 'a/a.test.ts': USE, 'b/b.ts': B });
  expect([...uses.keys()]).toEqual(['b::b.ts']);
});

test('a circle of files is found, also of types alone', () => {
  const uses = programOf({
    'a/one.ts': "import type { Two } from './two.js';\nexport type One = 1;",
    'a/two.ts': "import type { One } from './one.js';\nexport type Two = 1;",
  });
  const circle = 'a circle: a::two.ts -> a::one.ts -> a::two.ts';
  expect(faultsOf(uses, [['a']])).toContain(circle);
});

test('a circle of folders is found whose files are in none', () => {
  const uses = programOf({
    'a/x/one.ts': "import { thing } from '../y/three.js';",
    'a/x/two.ts': B,
    'a/y/three.ts': B,
    'a/y/four.ts': "import { thing } from '../x/two.js';",
  });
  const [fault, ...others] = faultsOf(uses, [['a']]);
  expect(others).toEqual([]);
  expect(fault).toContain("a circle in 'a'");
});

test('a folder may use only those below it', () => {
  const uses = programOf({ 'a/a.ts': USE, 'b/b.ts': B });
  expect(faultsOf(uses, [['a'], ['b']])).toEqual([]);
  const fault = 'a::a.ts -> b::b.ts, which is no layer below it';
  expect(faultsOf(uses, [['b'], ['a']])).toEqual([fault]);
  expect(faultsOf(uses, [['a', 'b']])).toEqual([fault]);
});

test('a file or a folder that is in no layer is found, even if nothing uses it', () => {
  const uses = programOf({ 'main.ts': '', 'a.ts': '', 'a/a.ts': '', 'b/b.ts': B });
  expect(faultsOf(uses, [['main.ts'], ['a']])).toEqual([
    'a.ts is in no layer',
    'b::b.ts is in no layer',
  ]);
});
