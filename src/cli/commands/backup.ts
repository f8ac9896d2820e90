import { Command } from 'commander';
import { EXIT_BAD_USAGE, EXIT_DAMAGED, EXIT_OK, EXIT_REFUSED } from '../../core/start-error.js';
import { addHelp } from '../help-text.js';
import { loadMaintenance } from '../load-maintenance.js';
import { pathArgument } from '../path-argument.js';
import { readSettings } from '../read-settings.js';

export function backupCommand(): Command {
  const command = new Command('backup')
    .summary('back DATA_PATH up, also while it is served')
    .description(
      'Verifies the data folder (DATA_PATH) and copies it, also while it is served. The backup ' +
        'holds every write that was acknowledged before it began; keys are not in it.',
    )
    .argument('<FOLDER>', 'the folder to back up into, missing or empty', pathArgument)
    .action(async (folder: string) => {
      const { dataPath } = readSettings();
      const { backup } = await loadMaintenance();
      await backup(dataPath, folder);
    });
  return addHelp(command, {
    examples: [
      ['vectord backup ../backup', 'backs ./data up'],
      ['DATA_PATH=/srv/points vectord backup /mnt/monday', 'backs another folder up'],
    ],
    exitCodes: [
      [EXIT_OK, 'all is well'],
      [EXIT_REFUSED, 'it failed'],
      [EXIT_BAD_USAGE, 'the arguments or a setting cannot be read'],
      [EXIT_DAMAGED, 'it found damage, and made no backup'],
    ],
  });
}
