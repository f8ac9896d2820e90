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

export function restoreCommand(): Command {
  const command = new Command('restore')
    .summary('copy a backup into DATA_PATH')
    .description(
      'Verifies a backup, and then copies it into the data folder (DATA_PATH), which has to be ' +
        'missing, or empty but for its keys.',
    )
    .argument('<FOLDER>', 'the folder that holds the backup', pathArgument)
    .action(async (folder: string) => {
      const { dataPath } = readSettings();
      const { restore } = await loadMaintenance();
      await restore(folder, dataPath);
    });
  return addHelp(command, {
    examples: [
      ['DATA_PATH=./restored vectord restore ../backup', 'makes ./restored of a backup'],
      ['DATA_PATH=./restored vectord serve', 'serves it'],
    ],
    exitCodes: [
      [EXIT_OK, 'all is well'],
      [EXIT_REFUSED, 'it failed'],
      [EXIT_BAD_USAGE, 'the arguments or a setting cannot be read'],
      [EXIT_DAMAGED, 'the backup is damaged, and nothing was restored'],
      [EXIT_IN_USE, 'one of the folders is in use'],
    ],
  });
}
