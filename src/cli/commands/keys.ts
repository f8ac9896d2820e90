import { Command, InvalidArgumentError } from 'commander';
import type { Role } from '../../auth/keys-file.js';
import { EXIT_BAD_USAGE, EXIT_OK, EXIT_REFUSED } from '../../core/start-error.js';
import { choice } from '../choice.js';
import { addHelp } from '../help-text.js';
import { addHelpCommand } from './help.js';
import { readSettings } from '../read-settings.js';

const ROLES: readonly Role[] = ['readonly', 'readwrite'];

/** Long enough for any name of a program or person, short enough for a line of a table. */
const LONGEST_NAME = 100;

const EXIT_CODES = [
  [EXIT_OK, 'all is well'],
  [EXIT_REFUSED, 'it failed, and nothing was changed'],
  [EXIT_BAD_USAGE, 'the arguments or a setting cannot be read'],
] as const;

export function keysCommand(): Command {
  const command = new Command('keys')
    .summary('create, list and revoke API keys')
    .description(
      'Changes the keys file: SERVICE_KEYS_FILE, or keys.json in DATA_PATH. A service that runs ' +
        'reads it within a second.',
    )
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(revokeCommand());
  addHelpCommand(command);
  return addHelp(command, {
    examples: [
      ['vectord keys create shop --role readwrite', 'adds a key and prints it'],
      ['vectord keys list', 'lists names and roles'],
      ['vectord keys revoke shop', 'removes the key'],
    ],
    exitCodes: EXIT_CODES,
  });
}

function createCommand(): Command {
  const command = new Command('create')
    .summary('add a key, or make the keys file')
    .description(
      'With a NAME it adds a key to the keys file, which it makes if there is none, and prints the ' +
        'key, this once: the file has only its hash.\n' +
        'Without a NAME it makes a keys file where there is none, as the first start does, with a ' +
        'key of each role in plain text, and prints neither: read them in the file.',
    )
    .argument('[NAME]', 'the name of the key, which no other key has', nameArgument)
    .addOption(choice('--role <ROLE>', 'what the key may do (default: "readonly")', ROLES))
    .action(async (name: string | undefined, { role }: { role?: Role }) => {
      if (name === undefined && role !== undefined) {
        command.error("error: option '--role' needs the NAME of a key");
      }
      const { createKey, createKeys } = await import('../change-keys.js');
      if (name === undefined) createKeys(readSettings());
      else await createKey(readSettings(), { name, role: role ?? 'readonly' });
    });
  return addHelp(command, {
    examples: [
      ['vectord keys create', 'makes a keys file with the keys "admin" and "search" in plain text'],
      ['export VECTORD_KEY=$(vectord keys create shop --role readwrite)', 'adds a key'],
    ],
    exitCodes: EXIT_CODES,
  });
}

function listCommand(): Command {
  const command = new Command('list')
    .summary('list names and roles')
    .description('Lists name and role of each key, and whether the file has it or its hash alone.')
    .action(async () => {
      const { listKeys } = await import('../change-keys.js');
      listKeys(readSettings());
    });
  return addHelp(command, {
    examples: [['vectord keys list', 'lists the keys of ./data/keys.json']],
    exitCodes: EXIT_CODES,
  });
}

function revokeCommand(): Command {
  const command = new Command('revoke')
    .summary('remove a key')
    .description('Removes a key from the keys file. A service that runs refuses it in a second.')
    .argument('<NAME>', 'the name of the key')
    .option('--force', 'also if no key is left that may write')
    .action(async (name: string, { force }: { force?: true }) => {
      const { dropKey } = await import('../change-keys.js');
      await dropKey(readSettings(), name, { force: force === true });
    });
  return addHelp(command, {
    examples: [['vectord keys revoke shop', 'removes the key "shop"']],
    exitCodes: EXIT_CODES,
  });
}

/** Reads the name of a new key, which is shown in tables and in the log. */
function nameArgument(text: string): string {
  if (text === '' || text.length > LONGEST_NAME || /\p{C}/u.test(text) || text.trim() !== text) {
    throw new InvalidArgumentError(
      `Expected 1 to ${LONGEST_NAME} visible characters, without a space at either end.`,
    );
  }
  return text;
}
