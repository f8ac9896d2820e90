#!/usr/bin/env node
import { banner } from './process/banner.js';
import { readConfig } from './config/config.js';
import { VectordError } from './core/errors.js';
import { collectRarely } from './process/heap.js';
import { helpText, parseArguments } from './cli/help.js';
import { createLogger, type Logger } from './observe/logger.js';
import { createKeys } from './cli/create-keys.js';
import { maintain } from './cli/maintain.js';
import { misspelledSettings } from './config/misspelled.js';
import { nodeVersionWarning } from './process/node-version.js';
import { npmEnd } from './process/npm.js';
import {
  exitOnDefect,
  ignoreClosedOutput,
  ignoreLostOutput,
  nextStopSignal,
} from './process/shutdown.js';
import { EXIT_OK, EXIT_REFUSED, StartError } from './core/start-error.js';
import { start, type RunningService } from './process/start.js';
import { VERSION } from './config/version.js';

ignoreClosedOutput();
try {
  await run(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  process.stderr.write(`vectord does not start:\n${error.message}\n`);
  process.exitCode = error.exitCode;
}

async function run(args: readonly string[]): Promise<void> {
  const command = parseArguments(args);
  switch (command.name) {
    case 'help':
      process.stdout.write(helpText());
      break;
    case 'version':
      process.stdout.write(`${VERSION}\n`);
      break;
    case 'serve':
      await serve();
      break;
    case 'keys create':
      warnOfMisspelled();
      createKeys(readConfig(process.env));
      break;
    default:
      warnOfMisspelled();
      process.exitCode = await maintain(command, readConfig(process.env).dataPath);
  }
}

/** Warns on the standard error: the standard output is the command's. */
function warnOfMisspelled(): void {
  for (const line of misspelledSettings(process.env)) process.stderr.write(`warning: ${line}\n`);
}

async function serve(): Promise<void> {
  ignoreLostOutput();
  collectRarely();
  const config = readConfig(process.env);
  const logger = createLogger(config.logLevel);
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
  const opening = start(config, logger);
  const early = await Promise.race([stopReason, opening.then(() => undefined)]);
  if (early !== undefined) stopEarly(early, logger);
  service = await opening;
  process.stdout.write(banner(service.summary));
  logger.info(await stopReason, 'stopping');
  process.exit(await stop(service, logger));
}

/** Nothing was acknowledged yet, and whatever an open does to the folder may be cut off. */
function stopEarly(reason: object, logger: Logger): never {
  logger.info(reason, 'stopped before the service was ready: the data folder is as safe as before');
  process.exit(EXIT_OK);
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
