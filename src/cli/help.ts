import { SETTINGS, type Setting } from '../config/settings.js';
import {
  EXIT_BAD_USAGE,
  EXIT_DAMAGED,
  EXIT_IN_USE,
  EXIT_OK,
  EXIT_REFUSED,
  EXIT_SIGNAL,
  StartError,
} from '../core/start-error.js';
import { VERSION } from '../config/version.js';

const ALL_SETTINGS: readonly Setting<unknown>[] = Object.values(SETTINGS);

/** What the folder of a command that needs one is. */
const FOLDERS: ReadonlyMap<string | undefined, string> = new Map([
  ['backup', 'the one to back DATA_PATH up into, missing or empty, as in backup ../backup'],
  ['restore', 'the one that holds the backup to copy into DATA_PATH, as in restore ../backup'],
]);

export type Command =
  | { readonly name: 'serve' | 'help' | 'version' | 'keys create' }
  /** A data folder; without one it is DATA_PATH. */
  | { readonly name: 'check'; readonly folder: string | undefined }
  /** The folder that is made, or that is read. */
  | { readonly name: 'backup' | 'restore'; readonly folder: string }
  /** The damaged folder, and the one that is made. */
  | { readonly name: 'repair'; readonly folder: string; readonly into: string };

/** What the command line asks for. */
export function parseArguments(args: readonly string[]): Command {
  const [name, folder, option, into] = args;
  if (args.length <= 1) {
    if (name === undefined) return { name: 'serve' };
    if (name === '--help') return { name: 'help' };
    if (name === '--version') return { name: 'version' };
    if (name === 'check') return { name, folder };
  }
  if (args.length === 2 && isPath(folder)) {
    if (name === 'check' || name === 'backup' || name === 'restore') return { name, folder };
    if (name === 'keys' && folder === 'create') return { name: 'keys create' };
  }
  if (args.length === 4 && name === 'repair' && option === '--into') {
    if (isPath(folder) && isPath(into)) return { name, folder, into };
  }
  throw new StartError(describeUsage(args), EXIT_BAD_USAGE);
}

/** What is wrong with the arguments of a command, or with the command. */
function describeUsage(args: readonly string[]): string {
  const [name] = args;
  const line = JSON.stringify(args.join(' '));
  const folder = FOLDERS.get(name);
  if (folder !== undefined) {
    return `the arguments ${line} are wrong, expected ${name} and one folder: ${folder}`;
  }
  if (name === 'repair') {
    return `the arguments ${line} are wrong, expected repair FOLDER --into NEW`;
  }
  if (name === 'keys') {
    return `the arguments ${line} are wrong, expected keys create, which makes a keys file`;
  }
  return (
    `the arguments ${line} are unknown, expected none, --help, --version, check [FOLDER], ` +
    'backup FOLDER, restore FOLDER, repair FOLDER --into NEW or keys create: ' +
    'all settings are environment variables'
  );
}

/** What begins like an option was meant as one, and none is known. */
function isPath(text: string | undefined): text is string {
  return text !== undefined && text !== '' && !text.startsWith('-');
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
  vectord                 starts the service; all its settings are environment variables
  vectord check [FOLDER]  verifies a data folder that no process has open, DATA_PATH by default,
                          and names every damaged place; changes nothing
  vectord backup FOLDER   backs DATA_PATH up into FOLDER, missing or empty, also while it is served
  vectord restore FOLDER  verifies the backup in FOLDER and copies it into DATA_PATH, missing or
                          empty but for its keys
  vectord repair FOLDER --into NEW
                          saves every sound point of the damaged folder FOLDER into NEW, missing or
                          empty, and lists what is lost in NEW.losses.json; only reads FOLDER
  vectord keys create     makes a keys file with two fresh keys, one of each role, where there is
                          none: at SERVICE_KEYS_FILE, or keys.json in DATA_PATH
  vectord --help          prints this page
  vectord --version       prints the version

Environment variables:
${lines.join('\n')}

Signals:
  SIGTERM, SIGINT     finish what is under way and stop; a second one stops at once,
                      and so does the first one before the service is ready
  SIGHUP              reads the keys file and the certificate again

Exit codes:
  ${EXIT_OK}  all is well
  ${EXIT_REFUSED}  it failed, the start was refused, or a write had failed when it stopped
  ${EXIT_BAD_USAGE}  the arguments or a setting cannot be read
  ${EXIT_DAMAGED}  check, backup or restore found damage, or repair nothing to save
  ${EXIT_IN_USE}  check, restore or repair found the folder in use
  ${EXIT_SIGNAL} and the number of a signal: the second one, which cut a stop short
`;
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
