import { Command } from 'commander';
import {
  EXIT_BAD_USAGE,
  EXIT_DAMAGED,
  EXIT_IN_USE,
  EXIT_OK,
  EXIT_REFUSED,
} from '../../core/start-error.js';
import { addHelp } from '../help-text.js';
import { loadMaintenance } from '../load-maintenance.js';
import { pathArgument } from '../path-argument.js';
import { readSettings } from '../read-settings.js';

export function checkCommand(): Command {
  const command = new Command('check')
    .summary('verify a data folder or a backup')
    .description(
      'Verifies a data folder that no process has open, and names every damaged place. ' +
        'It changes nothing.',
    )
    .argument('[FOLDER]', 'the folder; DATA_PATH unless it is named', pathArgument)
    .action(async (folder: string | undefined) => {
      const { dataPath } = readSettings();
      const { check } = await loadMaintenance();
      process.exitCode = await check(folder, dataPath);
    });
  return addHelp(command, {
    examples: [
      ['vectord check', 'verifies ./data, or the folder that DATA_PATH names'],
      ['vectord check backups/monday', 'verifies a backup'],
    ],
    exitCodes: [
      [EXIT_OK, 'no damage; a torn end of the log, which the next start cuts, is only a note'],
      [EXIT_REFUSED, 'it failed'],
      [EXIT_BAD_USAGE, 'the arguments or a setting cannot be read'],
      [EXIT_DAMAGED, 'it found damage'],
      [EXIT_IN_USE, 'the folder is in use'],
    ],
  });
}
