import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { helpText, parseArguments, settingsTable } from './help.js';
import { SETTINGS } from '../config/settings.js';

describe('the command line', () => {
  test.each([
    [[], { name: 'serve' }],
    [['--help'], { name: 'help' }],
    [['--version'], { name: 'version' }],
    [['check'], { name: 'check', folder: undefined }],
    [['check', 'a folder'], { name: 'check', folder: 'a folder' }],
    [['backup', '../b'], { name: 'backup', folder: '../b' }],
    [['restore', '/b'], { name: 'restore', folder: '/b' }],
    [['keys', 'create'], { name: 'keys create' }],
    [['repair', 'a', '--into', 'b'], { name: 'repair', folder: 'a', into: 'b' }],
  ])('%j asks for %j', (args, command) => {
    expect(parseArguments(args)).toEqual(command);
  });

  test.each([
    [['serve']],
    [['--port', '80']],
    [['--help', 'me']],
    [['']],
    [['--HELP']],
    [['check', '--all']],
    [['check', 'a', 'b']],
    [['check', '']],
    [['backup']],
    [['backup', '']],
    [['backup', '--to']],
    [['backup', 'a', 'b']],
    [['restore']],
    [['restore', 'a', '--force']],
    [['keys']],
    [['keys', 'delete']],
    [['keys', 'create', 'a']],
    [['repair', 'a']],
    [['repair', 'a', 'b']],
    [['repair', 'a', '--into']],
    [['repair', 'a', '--into', '']],
    [['repair', 'a', '--onto', 'b']],
    [['repair', '--into', 'a', 'b']],
  ])('%j is refused', (args) => {
    expect(() => parseArguments(args)).toThrow(JSON.stringify(args.join(' ')));
  });
});

test.each(['backup', 'restore'])('%s without a folder says which one is missing', (name) => {
  expect(() => parseArguments([name])).toThrow(
    `the arguments "${name}" are wrong, expected ${name} and one folder: the one `,
  );
});

test('the help page tells the exit codes', () => {
  expect(helpText()).toMatch(
    /^ {2}3 {2}check, backup or restore found damage, or repair nothing to save$/m,
  );
  expect(helpText()).toMatch(/^ {2}4 {2}check, restore or repair found the folder in use$/m);
});

test('the help page tells name, meaning, range and default of every setting', () => {
  const page = helpText();
  for (const setting of Object.values(SETTINGS)) {
    expect(page).toContain(`\n  ${setting.name} `);
    expect(page).toContain(`${setting.expected}; default: ${setting.fallbackText}\n`);
    expect(page).toContain(setting.meaning);
  }
});

const PAGE = new URL('../../docs/CONFIGURATION.md', import.meta.url);

test.skipIf(!existsSync(PAGE))('the page of settings shows the table as it is', () => {
  const page = withoutPadding(readFileSync(PAGE, 'utf8'));
  expect(page).toContain(withoutPadding(settingsTable()));
});

/** Formatters pad the cells of a table; that is no difference. */
function withoutPadding(markdown: string): string {
  return markdown.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---');
}
