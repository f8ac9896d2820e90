import type { Command } from 'commander';
import { EXIT_OK } from '../../core/start-error.js';
import { exportPoints } from '../../transfer/export.js';
import type { ExportArguments } from './export-arguments.js';
import { formatCounted } from '../count.js';
import { Bar } from './bar.js';
import { runRemote } from './run-remote.js';

/** Does what `vectord export` asks for, and sets the exit code. */
export async function runExport(
  path: string,
  options: ExportArguments,
  command: Command,
): Promise<void> {
  await runRemote(options, command, async (client, { signal: stopping }) => {
    const bar = new Bar('points');
    const { format, filter, base64, force } = options;
    const vectors = base64 === true ? 'base64' : 'array';
    const onProgress = (points: number, total: number): void => bar.at(points, points / total);
    try {
      const { points, paths } = await exportPoints(client, {
        path,
        format,
        filter,
        vectors,
        isForced: force === true,
        stopping,
        onProgress,
      });
      bar.clear();
      process.stdout.write(`${formatCounted(points, 'point')} written to ${paths.join(' and ')}\n`);
      return EXIT_OK;
    } finally {
      bar.clear();
    }
  });
}
