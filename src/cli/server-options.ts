import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { InvalidArgumentError as UnusableError } from '../client/errors.js';
import type { Client } from '../client/interface.js';
import { connect } from '../client/node.js';
import { messageOf } from '../core/start-error.js';

/** Which service a command speaks to. */
export interface ServerOptions {
  readonly url: string;
  readonly keyFile?: string;
  readonly caFile?: string;
}

/** The options that `connectTo` takes. */
export function withServerOptions(command: Command): Command {
  return command
    .option(
      '--url <url>',
      'the service: grpc:// or http://, with an s by TLS',
      'grpc://127.0.0.1:50051',
    )
    .option('--key-file <file>', 'a file with the key alone; else the variable VECTORD_KEY has it')
    .option('--ca-file <file>', 'certificates that grpcs:// trusts, in PEM');
}

/** A client of the service; ends the command with exit code 2 if an option cannot be used. */
export function connectTo({ url, keyFile, caFile }: ServerOptions, command: Command): Client {
  const key = keyFile === undefined ? process.env['VECTORD_KEY'] : keyIn(keyFile, command);
  const tls = caFile === undefined ? undefined : { ca: textOf(caFile, command) };
  try {
    return connect(url, { ...(key ? { key } : {}), tls });
  } catch (error) {
    if (error instanceof UnusableError) return command.error(error.message, { exitCode: 2 });
    throw error;
  }
}

function keyIn(path: string, command: Command): string {
  const text = textOf(path, command).trim();
  if (/^[\x21-\x7e]+$/.test(text) && !text.startsWith('{')) return text;
  return command.error(`${path} does not hold a key alone, on one line`, { exitCode: 2 });
}

function textOf(path: string, command: Command): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return command.error(`${path} cannot be read: ${messageOf(error)}`, { exitCode: 2 });
  }
}
