import { CommanderError, type Command } from 'commander';
import { EXIT_BAD_USAGE, EXIT_OK, StartError } from '../core/start-error.js';
import { visibleLines } from '../core/visible.js';
import { createProgram } from './program.js';

/** Does what the arguments ask for, and sets the exit code. */
export async function runCommandLine(
  args: readonly string[],
  serve: () => Promise<void>,
): Promise<void> {
  const program = createProgram(serve);
  let running = 'vectord';
  program.hook('preAction', (_, command) => void (running = fullName(command)));
  try {
    await program.parseAsync(args.length === 0 ? ['serve'] : args, { from: 'user' });
  } catch (error) {
    process.exitCode = report(error, running);
  }
}

/** Says on the standard error why a command failed; answers the exit code. */
function report(error: unknown, running: string): number {
  // Commander has written what there is to say: a page of help, or what is wrong with the arguments.
  if (error instanceof CommanderError) {
    return error.exitCode === EXIT_OK ? EXIT_OK : EXIT_BAD_USAGE;
  }
  if (!(error instanceof StartError)) throw error;
  const { message, exitCode } = error;
  const head = running === 'vectord serve' ? 'vectord does not start' : `${running} failed`;
  const isShort = running !== 'vectord serve' && !message.includes('\n');
  // It may have words of a server, or of a file, that would change the terminal.
  process.stderr.write(`${head}:${isShort ? ' ' : '\n'}${visibleLines(message)}\n`);
  return exitCode;
}

/** The names of a command and of those that it is in. */
function fullName(command: Command): string {
  const { parent } = command;
  return parent === null ? command.name() : `${fullName(parent)} ${command.name()}`;
}
