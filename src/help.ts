import { SETTINGS, type Setting } from './settings.js';
import { EXIT_BAD_USAGE, StartError } from './start-error.js';
import { VERSION } from './version.js';

const ALL_SETTINGS: readonly Setting<unknown>[] = Object.values(SETTINGS);

export type Command = 'serve' | 'help' | 'version';

const COMMANDS: ReadonlyMap<string | undefined, Command> = new Map([
  [undefined, 'serve'],
  ['--help', 'help'],
  ['--version', 'version'],
]);

/** What the command line asks for. */
export function parseArguments(args: readonly string[]): Command {
  const command = COMMANDS.get(args[0]);
  if (command !== undefined && args.length <= 1) return command;
  throw new StartError(
    `the arguments ${JSON.stringify(args.join(' '))} are unknown, ` +
      'expected none, --help or --version: all settings are environment variables',
    EXIT_BAD_USAGE,
  );
}

/** What `vectord --help` prints. */
export function helpText(): string {
  const nameWidth = Math.max(...ALL_SETTINGS.map(({ name }) => name.length));
  const indent = ' '.repeat(nameWidth + 4);
  const lines = ALL_SETTINGS.flatMap(({ name, meaning, expected, fallbackText }) => [
    `  ${name.padEnd(nameWidth)}  ${meaning}`,
    `${indent}${expected}; default: ${fallbackText}`,
  ]);
  return `vectord ${VERSION}: a vector storage service over gRPC and HTTP/JSON

Usage:
  vectord             starts the service; all its settings are environment variables
  vectord --help      prints this page
  vectord --version   prints the version

Environment variables:
${lines.join('\n')}

Signals:
  SIGTERM, SIGINT     finish what is under way and stop; a second one stops at once
  SIGHUP              reads the keys file again
`;
}

/** The settings as a Markdown table, as the README shows it. */
export function settingsTable(): string {
  const rows = ALL_SETTINGS.map(
    ({ name, fallbackText, expected, meaning }) =>
      `| \`${name}\` | ${fallbackText} | ${expected} | ${meaning} |`,
  );
  return ['| Variable | Default | Values | Meaning |', '| --- | --- | --- | --- |', ...rows].join(
    '\n',
  );
}
