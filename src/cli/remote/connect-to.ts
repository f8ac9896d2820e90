import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { InvalidArgumentError as UnusableError } from '../../client/errors.js';
import type { Client } from '../../client/interface.js';
import { connect } from '../../client/node.js';
import { EXIT_BAD_USAGE, messageOf } from '../../core/start-error.js';
import type { ServerOptions } from '../server-options.js';

/** A client of the service; ends the command with exit code 2 if an option cannot be used. */
export function connectTo({ url, keyFile, caFile }: ServerOptions, command: Command): Client {
  const key = keyFile === undefined ? process.env['VECTORD_KEY'] : keyIn(keyFile, command);
  const tls = caFile === undefined ? undefined : { ca: textOf(caFile, command) };
  try {
    return connect(url, { ...(key ? { key } : {}), tls });
  } catch (error) {
    if (error instanceof UnusableError)
      return command.error(error.message, { exitCode: EXIT_BAD_USAGE });
    throw error;
  }
}

function keyIn(path: string, command: Command): string {
  const text = textOf(path, command).trim();
  if (/^[\x21-\x7e]+$/.test(text) && !text.startsWith('{')) return text;
  return command.error(`${path} does not hold a key alone, on one line`, {
    exitCode: EXIT_BAD_USAGE,
  });
}

function textOf(path: string, command: Command): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return command.error(`${path} cannot be read: ${messageOf(error)}`, {
      exitCode: EXIT_BAD_USAGE,
    });
  }
}
