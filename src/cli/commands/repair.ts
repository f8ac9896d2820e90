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

export function repairCommand(): Command {
  const command = new Command('repair')
    .summary('save what is sound in a damaged data folder')
    .description(
      'Saves every sound point of a damaged data folder into a new one, and lists what is lost ' +
        'in NEW.losses.json. The damaged folder is only read.',
    )
    .argument('<FOLDER>', 'the damaged folder', pathArgument)
    .requiredOption('--into <NEW>', 'the folder to make, missing or empty', pathArgument)
    .action(async (folder: string, { into }: { into: string }) => {
      readSettings();
      const { repair } = await loadMaintenance();
      await repair(folder, into);
    });
  return addHelp(command, {
    examples: [['vectord repair data --into repaired', 'and lists losses in repaired.losses.json']],
    exitCodes: [
      [EXIT_OK, 'it saved what is sound'],
      [EXIT_REFUSED, 'it failed, or the folder holds no point'],
      [EXIT_BAD_USAGE, 'the arguments or a setting cannot be read'],
      [EXIT_DAMAGED, 'the damage leaves nothing to save'],
      [EXIT_IN_USE, 'the folder is in use'],
    ],
  });
}
