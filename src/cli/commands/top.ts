import { Command, InvalidArgumentError } from 'commander';
import { parseAddresses } from '../../client/address.js';
import { EXIT_BAD_USAGE, EXIT_OK, EXIT_REFUSED } from '../../core/start-error.js';
import { addHelp } from '../help-text.js';
import { pathArgument } from '../path-argument.js';

/** Each look costs the service a millisecond or two; one in an hour is no live view. */
const LEAST_INTERVAL_S = 0.1;
const GREATEST_INTERVAL_S = 3_600;

interface TopOptions {
  readonly url: string;
  readonly keyFile?: string;
  readonly interval: number;
  readonly once?: true;
}

export function topCommand(): Command {
  const command = new Command('top')
    .summary('show live what a service does')
    .description(
      'Shows requests, latencies, errors, connections, graphs, memory and disk of a service, from ' +
        'its /metrics and /v1/info: on a terminal live, else one block after the other. ' +
        'Requests for these two are left out. Ctrl-C ends it.',
    )
    .option(
      '--url <URL>',
      'the HTTP interface of the service',
      urlArgument,
      'http://127.0.0.1:3000',
    )
    .option(
      '--key-file <FILE>',
      'a file with a key, of any role; else VECTORD_KEY is the key',
      pathArgument,
    )
    .option('--interval <SECONDS>', 'the time between two looks', intervalArgument, 1)
    .option('--once', 'print what happens in one interval, and end')
    .action(async ({ url, keyFile, interval, once }: TopOptions) => {
      const { givenKey } = await import('../given-key.js');
      const { WatchedService } = await import('../top/service.js');
      const { watch, watchOnce } = await import('../top/watch.js');
      const service = new WatchedService(url, givenKey(keyFile));
      await (once === true ? watchOnce : watch)(service, interval * 1_000);
    });
  return addHelp(command, {
    examples: [
      ['VECTORD_KEY=... vectord top', 'shows the service on this machine'],
      ['vectord top --url https://vectors.example.org --key-file ~/vectord.key', 'shows another'],
      ['vectord top --interval 10 --once', 'prints one block after ten seconds'],
    ],
    exitCodes: [
      [EXIT_OK, 'it was ended by Ctrl-C or SIGTERM, or --once is done'],
      [EXIT_REFUSED, 'the service does not answer at first, or wants another key'],
      [EXIT_BAD_USAGE, 'the arguments cannot be read'],
    ],
  });
}

/** Reads the address of an HTTP interface. */
function urlArgument(text: string): string {
  try {
    const [{ protocol, target }] = parseAddresses(text);
    if (protocol === 'http') return target;
  } catch {
    // Its message would offer addresses of gRPC, too.
  }
  throw new InvalidArgumentError(
    'Expected the address of an HTTP interface, such as http://127.0.0.1:3000, and no key in it.',
  );
}

function intervalArgument(text: string): number {
  const seconds = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (seconds >= LEAST_INTERVAL_S && seconds <= GREATEST_INTERVAL_S) return seconds;
  throw new InvalidArgumentError(
    `Expected seconds from ${LEAST_INTERVAL_S} to ${GREATEST_INTERVAL_S}.`,
  );
}
