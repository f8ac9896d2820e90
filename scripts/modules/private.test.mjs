import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

/** What the lint says of a file of src/ that holds this text. */
function lint(text, file = 'a.ts') {
  const folder = mkdtempSync(join(tmpdir(), 'private-'));
  try {
    copyFileSync('.oxlintrc.json', join(folder, '.oxlintrc.json'));
    mkdirSync(join(folder, 'src'));
    writeFileSync(join(folder, 'src', file), `${text}\n`);
    const oxlint = resolve('node_modules/.bin/oxlint');
    const options = { cwd: folder, encoding: 'utf8' };
    const { status, stdout } = spawnSync(oxlint, ['--deny-warnings', '--format=unix'], options);
    return { isRefused: status !== 0, stdout };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const MARK = '// oxlint-disable-next-line no-restricted-properties -- a reason\n';

test.each([
  [
    'a file inside a package',
    "import { x } from 'koa/lib/context.js';\nx();",
    'no-restricted-imports',
  ],
  [
    'a type from there',
    "export type { X } from '@grpc/grpc-js/build/src/x.js';",
    'no-restricted-imports',
  ],
  [
    'a flag of V8',
    "import { setFlagsFromString } from 'node:v8';\nsetFlagsFromString('--x');",
    'no-restricted-imports',
  ],
  [
    'a flag by another name',
    "import v8 from 'node:v8';\nv8.setFlagsFromString('--x');",
    'no-restricted-properties',
  ],
  [
    'gc by a new context',
    "import { runInNewContext } from 'node:vm';\nrunInNewContext('gc')();",
    'no-restricted-imports',
  ],
  [
    'a method of a class',
    'export const f = (s: object) => Server.prototype.close.call(s);',
    'no-restricted-properties',
  ],
  ['a changed class', 'Server.prototype.close = () => {};', 'no-restricted-properties'],
  [
    'a handle',
    'export const f = (s: S) => s.socket._handle.readStop();',
    'no-restricted-properties',
  ],
  [
    'a handle in a pattern',
    'export const f = ({ _handle: handle }: S) => handle;',
    'no-restricted-properties',
  ],
  [
    'another member with an underscore',
    'export const f = (s: S) => s._server;',
    'no-underscore-dangle',
  ],
  ['a parser of Node.js', 'export const f = (p: P) => p.onIncoming();', 'no-restricted-properties'],
  ['a mark that nothing needs', `${MARK}export const a = 1;`, 'Unused oxlint-disable'],
])('%s is refused', (_, text, why) => {
  const { isRefused, stdout } = lint(text);
  expect(stdout).toContain(why);
  expect(isRefused).toBe(true);
});

test.each([
  ['a package', "import { status } from '@grpc/grpc-js';\nexport const a = status.OK;"],
  ['a path that a package exports', "import { w } from '@bufbuild/protobuf/wire';\nw();"],
  ['a module of Node.js', "import { open } from 'node:fs/promises';\nexport const a = open;"],
  ['a file of ours', "import { lib } from '../lib/src/x.js';\nexport const a = lib;"],
  ['what is marked', `${MARK}export const f = (s: S) => s.prototype;`],
])('%s is not', (_, text) => {
  const { isRefused, stdout } = lint(text);
  expect(stdout).toBe('');
  expect(isRefused).toBe(false);
});
