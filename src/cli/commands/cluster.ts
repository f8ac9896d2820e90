import { Command } from 'commander';
import { EXIT_BAD_USAGE, EXIT_OK, EXIT_REFUSED } from '../../core/start-error.js';
import { addHelp } from '../help-text.js';
import { addHelpCommand } from './help.js';

const EXAMPLE = 'CLUSTER_URL=nats://10.0.0.1:4222 vectord cluster status';

const EXIT_CODES = [
  [EXIT_OK, 'all is well'],
  [EXIT_REFUSED, 'something is wrong with the cluster, or it cannot be asked'],
  [EXIT_BAD_USAGE, 'the arguments or a setting cannot be read'],
] as const;

export function clusterCommand(): Command {
  const command = new Command('cluster')
    .summary('show the state of a cluster')
    .description('Looks at a cluster from outside, over NATS.')
    .addCommand(statusCommand());
  addHelpCommand(command);
  return addHelp(command, {
    examples: [[EXAMPLE, 'shows the state of NATS and of each node']],
    exitCodes: EXIT_CODES,
  });
}

function statusCommand(): Command {
  const command = new Command('status')
    .summary('show the state of NATS and of each node, and what is wrong')
    .description(
      'Asks NATS and each node for their state, and says what is wrong and what to do. It takes ' +
        'CLUSTER_URL, CLUSTER_NAME and CLUSTER_CREDENTIALS as the nodes do, needs no key, and changes ' +
        'nothing.',
    )
    .option('--json', 'prints one object of JSON in place of the table')
    .action(async ({ json }: { json?: true }) => {
      const { clusterStatus } = await import('../cluster-status.js');
      process.exitCode = await clusterStatus(json === true);
    });
  return addHelp(command, {
    examples: [
      [EXAMPLE, 'prints a table'],
      ['vectord cluster status --json', 'prints JSON, with CLUSTER_URL set in the environment'],
    ],
    exitCodes: EXIT_CODES,
  });
}
