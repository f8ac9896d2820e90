import { SETTINGS, type Setting } from '../config/settings.js';

const ALL_SETTINGS: readonly Setting<unknown>[] = Object.values(SETTINGS);

/** The settings as the help pages list them: two lines for each. */
export function settingsText(): string {
  const nameWidth = Math.max(...ALL_SETTINGS.map(({ name }) => name.length));
  const indent = ' '.repeat(nameWidth + 4);
  const lines = ALL_SETTINGS.flatMap(({ name, meaning, expected, fallbackText }) => [
    `  ${name.padEnd(nameWidth)}  ${meaning}`,
    `${indent}${expected}; default: ${fallbackText}`,
  ]);
  return `Environment variables:\n${lines.join('\n')}\n`;
}

/** The settings as a Markdown table, as docs/CONFIGURATION.md shows it. */
export function settingsTable(): string {
  const rows = ALL_SETTINGS.map(
    ({ name, fallbackText, expected, meaning }) =>
      `| \`${name}\` | ${fallbackText} | ${expected} | ${meaning} |`,
  );
  return ['| Variable | Default | Values | Meaning |', '| --- | --- | --- | --- |', ...rows].join(
    '\n',
  );
}
