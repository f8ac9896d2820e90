import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from '../../client/errors.js';
import type { Client } from '../../client/interface.js';
import { connect } from '../../client/node.js';
import { EXIT_BAD_USAGE, messageOf, StartError } from '../../core/start-error.js';
import { givenKey } from '../given-key.js';
import type { ServerOptions } from '../server-options.js';

/** A client of the service. Throws a StartError if an option cannot be used. */
export function connectTo({ url, keyFile, caFile }: ServerOptions): Client {
  const key = givenKey(keyFile)?.text;
  if (caFile !== undefined && /^https:/i.test(url)) {
    const where = 'where the variable NODE_EXTRA_CA_CERTS names the file instead';
    throw new StartError(`--ca-file is given for ${url}, ${where}`, EXIT_BAD_USAGE);
  }
  const tls = caFile === undefined ? undefined : { ca: textOf(caFile) };
  try {
    return connect(url, { key, tls });
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    // The client names its own fields, which these options are.
    const message = error.message.replace(/^address/, '--url').replace(/^tls(\.ca)?/, '--ca-file');
    throw new StartError(message, EXIT_BAD_USAGE, { cause: error });
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new StartError(
      `the file of certificates ${path} (--ca-file) cannot be read: ${messageOf(error)}`,
    );
  }
}
