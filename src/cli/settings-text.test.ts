import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SETTINGS } from '../config/settings.js';
import { settingsTable, settingsText } from './settings-text.js';

test('the help tells name, meaning, range and default of every setting', () => {
  const text = settingsText();
  for (const setting of Object.values(SETTINGS)) {
    expect(text).toContain(`\n  ${setting.name} `);
    expect(text).toContain(`${setting.expected}; default: ${setting.fallbackText}\n`);
    expect(text).toContain(setting.meaning);
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
