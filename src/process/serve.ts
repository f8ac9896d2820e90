import { readConfig, type Config } from '../config/config.js';
import { misspelledSettings } from '../config/misspelled.js';
import { VectordError } from '../core/errors.js';
import { EXIT_OK, EXIT_REFUSED } from '../core/start-error.js';
import { exitNow } from '../engine/exit.js';
import { createLogger, standardError, type Logger } from '../observe/logger.js';
import { banner, startFacts } from './banner.js';
import { nodeVersionWarning } from './node-version.js';
import { npmEnd } from './npm.js';
import { ignoreLostOutput } from './output.js';
import { exitOnDefect, nextStopSignal } from './shutdown.js';
import { start, type RunningService } from './start.js';

/** Runs the service until it is told to stop; throws a StartError where it does not start. */
export async function serve(): Promise<void> {
  ignoreLostOutput();
  const config = readConfig(process.env);
  const logger = createLogger(config.logLevel, standardError(config.logFormat));
  exitOnDefect(logger);
  const warning = nodeVersionWarning(process.versions.node);
  if (warning !== undefined) logger.warn(warning);
  for (const line of misspelledSettings(process.env)) logger.warn(line);
  const stopReason = Promise.race([
    nextStopSignal().then((signal) => ({ signal })),
    npmEnd().then(() => ({ reason: 'npm has ended' })),
  ]);
  let service: RunningService | undefined;
  process.on('SIGHUP', () => service?.reload());
  const open = async (opened: Config): Promise<RunningService> => {
    const opening = start(opened, logger);
    const early = await Promise.race([stopReason, opening.then(() => undefined)]);
    if (early !== undefined) stopEarly(early, logger);
    service = await opening;
    logger.info(startFacts(service.summary), 'started');
    return service;
  };
  const first = await open(config);
  const { http, grpc } = first.summary;
  process.stdout.write(banner(first.summary));
  const runUntilStop = async (running: RunningService): Promise<number> => {
    const end = await Promise.race([stopReason, running.lost.then(() => undefined)]);
    logger.info(end ?? { reason: 'the node opens anew' }, 'stopping');
    const exitCode = await stop(running, logger);
    if (end !== undefined) return exitCode;
    return await runUntilStop(await open({ ...config, httpPort: http.port, grpcPort: grpc.port }));
  };
  process.exit(await runUntilStop(first));
}

/** Nothing was acknowledged yet, and whatever an open does to the folder may be cut off. */
function stopEarly(reason: object, logger: Logger): never {
  logger.info(reason, 'stopped before the service was ready: the data folder is as safe as before');
  exitNow(EXIT_OK);
}

/** Answers the exit code. A folder that could not be left in order is recovered by the next start. */
async function stop(service: RunningService, logger: Logger): Promise<number> {
  try {
    await service.stop();
  } catch (error) {
    if (!(error instanceof VectordError)) throw error;
    logger.error(
      { reason: error.message },
      'stopped: the next start recovers what was acknowledged',
    );
    return EXIT_REFUSED;
  }
  logger.info('stopped');
  return EXIT_OK;
}
