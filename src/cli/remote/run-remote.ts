import type { Command } from 'commander';
import { NO_KEY, VectordError } from '../../client/errors.js';
import type { Client } from '../../client/interface.js';
import { EXIT_BAD_USAGE, EXIT_REFUSED } from '../../core/start-error.js';
import { visibleLines } from '../../core/visible.js';
import { TransferError, UsageError } from '../../transfer/transfer-error.js';
import { connectionHint } from '../connection-hint.js';
import { Interruption } from './interruption.js';
import type { ServerOptions } from '../server-options.js';
import { connectTo } from './connect-to.js';

/** What a command does with a service; answers the exit code. */
export type Work = (client: Client, interruption: Interruption) => Promise<number>;

/**
 * Runs a command that speaks to a service, and sets the exit code: after a signal that of the signal,
 * after a failure 1, or 2 if the arguments are to blame, with its reason on the standard error.
 */
export async function runRemote(
  options: ServerOptions,
  command: Command,
  work: Work,
): Promise<void> {
  const client = connectTo(options);
  const interruption = new Interruption(() => client.close());
  try {
    const code = await work(client, interruption);
    process.exitCode = interruption.exitCode ?? code;
  } catch (error) {
    const code = error instanceof UsageError ? EXIT_BAD_USAGE : EXIT_REFUSED;
    process.exitCode = interruption.exitCode ?? code;
    if (interruption.exitCode !== undefined) {
      process.stderr.write(`vectord ${command.name()} was stopped by a signal\n`);
      return;
    }
    if (!(error instanceof VectordError) && !(error instanceof TransferError)) throw error;
    const reason = visibleLines(reasonOf(error, options));
    process.stderr.write(`vectord ${command.name()} failed: ${reason}\n`);
  } finally {
    interruption.close();
    client.close();
  }
}

/** Where a command takes the key from. */
const KEY_HINT = 'the variable VECTORD_KEY or --key-file has the key';

function reasonOf(error: Error, { url }: ServerOptions): string {
  const { message } = error;
  if (!(error instanceof VectordError)) return message;
  switch (error.code) {
    case 'UNAUTHENTICATED':
      return message === NO_KEY ? `no key: ${KEY_HINT}` : `${message} (${KEY_HINT})`;
    case 'PERMISSION_DENIED':
      return `${message} (a key with the role readwrite is needed)`;
    case 'CONNECTION_LOST':
      return `${message}${connectionHint(url, message)}`;
    default:
      return message;
  }
}
