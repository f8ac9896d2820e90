import { Command } from 'commander';
import { EXIT_BAD_USAGE, EXIT_OK, EXIT_REFUSED, EXIT_SIGNAL } from '../../core/start-error.js';
import { addHelp } from '../help-text.js';
import { settingsText } from '../settings-text.js';

export const SIGNALS = `Signals:
  SIGTERM, SIGINT     finish what is under way and stop; a second one stops at once,
                      and so does the first one before the service is ready
  SIGHUP              reads the keys file and the certificate again
`;

export const SIGNAL_EXIT = `\n  ${EXIT_SIGNAL} and the number of a signal: the second one, which cut a stop short`;

/** `serve` is given by whoever knows the service: the command line does not. */
export function serveCommand(serve: () => Promise<void>): Command {
  const command = new Command('serve')
    .summary('start the service, as `vectord` alone does')
    .description(
      'Starts the service over gRPC and HTTP/JSON. All its settings are environment variables.',
    )
    .addHelpText('after', () => `\n${settingsText()}\n${SIGNALS.trimEnd()}`)
    .action(serve);
  return addHelp(command, {
    examples: [
      ['vectord serve', 'serves ./data on the ports 3000 (HTTP) and 50051 (gRPC) of this machine'],
      ['DIMENSION=768 DATA_PATH=/srv/points vectord serve', 'serves another folder'],
    ],
    exitCodes: [
      [EXIT_OK, 'it was stopped, and all is well'],
      [EXIT_REFUSED, 'the start was refused, or a write had failed when it stopped'],
      [EXIT_BAD_USAGE, 'the arguments or a setting cannot be read'],
    ],
  }).addHelpText('after', SIGNAL_EXIT.slice(1));
}
