import { Command, CommanderError } from 'commander';
import { EXIT_BAD_USAGE, EXIT_OK } from '../core/start-error.js';
import { benchCommand } from './bench.js';
import { exportCommand } from './export.js';
import { importCommand } from './import.js';

/** Runs one of the commands that speak to a running service. */
export async function runRemoteProgram(args: readonly string[]): Promise<void> {
  const program = new Command('vectord').exitOverride();
  for (const command of [importCommand(), exportCommand(), benchCommand()]) {
    program.addCommand(command.exitOverride().showHelpAfterError('(--help shows all options)'));
  }
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode === EXIT_OK ? EXIT_OK : EXIT_BAD_USAGE;
  }
}
