import { Command } from 'commander';
import { VERSION } from '../config/version.js';
import {
  EXIT_BAD_USAGE,
  EXIT_DAMAGED,
  EXIT_IN_USE,
  EXIT_OK,
  EXIT_REFUSED,
} from '../core/start-error.js';
import { backupCommand } from './commands/backup.js';
import { benchCommand } from './commands/bench.js';
import { checkCommand } from './commands/check.js';
import { clusterCommand } from './commands/cluster.js';
import { exportCommand } from './commands/export.js';
import { addHelpCommand } from './commands/help.js';
import { exitCodesText } from './help-text.js';
import { importCommand } from './commands/import.js';
import { keysCommand } from './commands/keys.js';
import { repairCommand } from './commands/repair.js';
import { restoreCommand } from './commands/restore.js';
import { serveCommand, SIGNAL_EXIT, SIGNALS } from './commands/serve.js';
import { settingsText } from './settings-text.js';
import { topCommand } from './commands/top.js';

/**
 * The command line of vectord. A command imports what it does once it is asked for: the help does not
 * load the addon, and a service not the work of other commands.
 */
export function createProgram(serve: () => Promise<void>): Command {
  const program = new Command('vectord')
    .description(
      `vectord ${VERSION}: a vector storage service over gRPC and HTTP/JSON.\n\n` +
        'Without a command it starts the service. All settings are environment variables.',
    )
    .version(VERSION)
    .addHelpText('after', moreHelp)
    .exitOverride();
  const commands = [
    serveCommand(serve),
    importCommand(),
    exportCommand(),
    backupCommand(),
    restoreCommand(),
    checkCommand(),
    repairCommand(),
    keysCommand(),
    clusterCommand(),
    benchCommand(),
    topCommand(),
  ];
  for (const command of commands) program.addCommand(command);
  addHelpCommand(program);
  shareSettings(program);
  return program;
}

/** What is set for the program holds for each command. An error says how the command is used. */
function shareSettings(command: Command, path = command.name()): void {
  const lines = [
    `Usage: ${path} ${command.usage()}`,
    ...command.registeredArguments.map((one) => `  ${one.name()}  ${one.description}`),
    `\`${path} --help\` says more.`,
  ];
  if (mayTakeSettings(command)) {
    lines.push('Settings are environment variables, such as HTTP_PORT=8080.');
  }
  command.showHelpAfterError(lines.join('\n'));
  for (const inner of command.commands) {
    inner.copyInheritedSettings(command);
    shareSettings(inner, `${path} ${inner.name()}`);
  }
}

/** Whether a setting may have been meant by a wrong argument. */
function mayTakeSettings(command: Command): boolean {
  return command.parent === null || command.name() === 'serve';
}

function moreHelp(): string {
  return `
${settingsText()}
${SIGNALS}
${exitCodesText([
  [EXIT_OK, 'all is well'],
  [EXIT_REFUSED, 'it failed, the start was refused, or a write had failed when it stopped'],
  [EXIT_BAD_USAGE, 'the arguments or a setting cannot be read'],
  [EXIT_DAMAGED, 'check, backup or restore found damage, or it leaves repair nothing to save'],
  [EXIT_IN_USE, 'check, restore or repair found the folder in use'],
])}${SIGNAL_EXIT}`;
}
