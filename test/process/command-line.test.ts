import { existsSync, readFileSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import { SETTINGS } from '../../src/config/settings.js';
import { expectRefusal } from '../support/refusal.js';
import { ownFolder, Vectord } from '../support/vectord.js';

const COMMANDS = [
  'serve',
  'backup',
  'restore',
  'check',
  'repair',
  'keys',
  'keys create',
  'keys list',
  'keys revoke',
  'cluster',
  'cluster status',
  'top',
];

let dataPath = '';
let environment: Record<string, string> = {};

beforeEach(() => {
  ({ dataPath, environment } = ownFolder());
});

describe('the help', () => {
  test.each(['--help', '-h'])(
    '%s lists every command and setting, and the exit codes',
    async (flag) => {
      const stdout = await expectPage(flag);
      for (const name of COMMANDS.filter((command) => !command.includes(' '))) {
        expect(stdout).toMatch(new RegExp(`^  ${name} .*\\w$`, 'm'));
      }
      for (const { name } of Object.values(SETTINGS)) expect(stdout).toContain(`\n  ${name} `);
      expect(stdout).toMatch(
        /^ {2}3 {2}check, backup or restore found damage, or it leaves repair nothing to save$/m,
      );
      expect(stdout).toMatch(/^ {2}4 {2}check, restore or repair found the folder in use$/m);
    },
  );

  test.each(COMMANDS)('of %s has usage, examples and exit codes', async (command) => {
    const stdout = await expectPage(...command.split(' '), '--help');
    expect(stdout).toMatch(new RegExp(`^Usage: vectord ${command} .*\\n\\n[A-Z]`));
    expect(stdout).toMatch(new RegExp(`^Examples:\\n  .*vectord ${command}`, 'm'));
    expect(stdout).toMatch(/^Exit codes:\n {2}0 {2}\w.*\n {2}1 {2}\w.*\n {2}2 {2}\w/m);
    expect(await expectPage(...command.split(' '), '-h')).toBe(stdout);
    expect(await expectPage('help', ...command.split(' '))).toBe(stdout);
  });

  test('of serve lists every setting', async () => {
    const stdout = await expectPage('serve', '--help');
    for (const { name } of Object.values(SETTINGS)) expect(stdout).toContain(`\n  ${name} `);
  });

  test.each(['--version', '-V'])('%s prints the version', async (flag) => {
    const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    expect(await expectPage(flag)).toBe(`${JSON.parse(manifest).version}\n`);
  });
});

test('serve starts the service, as no argument does', async () => {
  const vectord = new Vectord(environment, ['serve']);
  await vectord.until(() => /^ready$/m.test(vectord.stdout));
  expect(await vectord.insert('the-key')).toBe(201);
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });
});

describe('with 2, and without touching anything, is refused', () => {
  test.each([
    ['bakup a', "unknown command 'bakup'", 'Did you mean backup?'],
    ['chek', "unknown command 'chek'", 'Did you mean check?'],
    ['keys creat', "unknown command 'creat'", 'Did you mean create?'],
    ['help imprt', "unknown command 'imprt'", 'Did you mean import?'],
    ['help keys creat', "unknown command 'creat'", 'Did you mean create?'],
    ['--verson', "unknown option '--verson'", 'Did you mean --version?'],
    ['keys revoke a --forec', "unknown option '--forec'", 'Did you mean --force?'],
    ['repair a --onto b', "required option '--into <NEW>' not specified", 'Usage: vectord repair'],
    ['--port 80', "unknown option '--port'", 'Settings are environment variables'],
    ['serve --port 80', "unknown option '--port'", 'Settings are environment variables'],
    ['serve now', "too many arguments for 'serve'", 'vectord serve --help'],
    ['check --all', "unknown option '--all'", 'vectord check --help'],
    ['check a b', "too many arguments for 'check'", 'Usage: vectord check'],
    ['backup', "missing required argument 'FOLDER'", 'the folder to back up into'],
    ['backup --to', "unknown option '--to'", 'vectord backup --help'],
    ['backup a b', "too many arguments for 'backup'", 'Usage: vectord backup'],
    ['restore', "missing required argument 'FOLDER'", 'the folder that holds the backup'],
    ['restore a --force', "unknown option '--force'", 'vectord restore --help'],
    ['keys', 'Usage: vectord keys', 'list names and roles'],
    ['keys create a b', "too many arguments for 'create'", 'Usage: vectord keys create'],
    ['keys create a --role root', "argument 'root' is invalid", 'readonly, readwrite'],
    [
      'keys create --role readonly',
      "'--role' needs the NAME of a key",
      'vectord keys create --help',
    ],
    ['keys revoke', "missing required argument 'NAME'", 'Usage: vectord keys revoke'],
    ['repair a', "required option '--into <NEW>' not specified", 'Usage: vectord repair'],
    ['repair --into b', "missing required argument 'FOLDER'", 'the damaged folder'],
    ['repair a --into', "option '--into <NEW>' argument missing", 'Usage: vectord repair'],
    ['repair a --into --b', 'Expected a path: write ./--b if that is the name', 'repair --help'],
  ])('%s', async (line, ...parts) => {
    await expectRefusal(new Vectord(environment, line.split(' ')), 2, ...parts);
    expect(existsSync(dataPath)).toBe(false);
  });

  test.each([[['']], [['check', '']], [['backup', '']], [['repair', 'a', '--into', '']]])(
    'an empty argument: %j',
    async (args) => {
      await expectRefusal(new Vectord(environment, args), 2, "''");
      expect(existsSync(dataPath)).toBe(false);
    },
  );

  test.each([
    ['a\u0007b', 'visible characters'],
    ['', 'visible characters'],
    [' a', 'without a space at either end'],
    ['a'.repeat(101), 'Expected 1 to 100'],
  ])('the name %j of a key', async (name, part) => {
    await expectRefusal(new Vectord(environment, ['keys', 'create', name]), 2, part);
  });
});

/** The arguments print a page, and end with 0. */
async function expectPage(...args: string[]): Promise<string> {
  const vectord = new Vectord({}, args);
  expect(await vectord.exit).toEqual({ code: 0, signal: null });
  expect(vectord.stderr).toBe('');
  return vectord.stdout;
}
