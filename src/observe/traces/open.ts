import type { Config } from '../../config/config.js';
import { SETTINGS } from '../../config/settings.js';
import type { Clock } from '../../core/clock.js';
import { EXIT_BAD_USAGE, messageOf, StartError } from '../../core/start-error.js';
import type { Logger } from '../logger.js';
import type { Tracing } from '../tracing.js';
import { faultsIn, isTurnedOff } from './environment.js';

/** What opentelemetry.ts imports, and the versions that it is tested with. */
export const TRACE_PACKAGES: Readonly<Record<string, string>> = {
  '@opentelemetry/api': '1.9',
  '@opentelemetry/core': '2',
  '@opentelemetry/resources': '2',
  '@opentelemetry/sdk-trace-base': '2',
  '@opentelemetry/exporter-trace-otlp-proto': '0.223',
};

/**
 * What traces requests; undefined unless the settings name a collector. The packages that this
 * takes are optional: they are loaded here and nowhere else. Throws a StartError where they are
 * missing, or where a setting of OpenTelemetry cannot be followed.
 */
export async function openTracing(
  config: Config,
  logger: Logger,
  clock: Clock,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Tracing | undefined> {
  const isSet = config.otlpEndpoint !== undefined || config.otlpTracesEndpoint !== undefined;
  if (!isSet || isTurnedOff(environment)) return undefined;
  const faults = faultsIn(environment);
  if (faults.length > 0) throw new StartError(faults.join('\n'), EXIT_BAD_USAGE);
  const { otlpEndpoint, otlpTracesEndpoint } = SETTINGS;
  const setting = config.otlpEndpoint === undefined ? otlpTracesEndpoint : otlpEndpoint;
  const { traceByOpenTelemetry } = await load(setting.name);
  return traceByOpenTelemetry({ hasTls: config.tlsCert !== undefined, logger, clock });
}

async function load(setting: string): Promise<typeof import('./opentelemetry.js')> {
  try {
    return await import('./opentelemetry.js');
  } catch (error) {
    const packages = Object.entries(TRACE_PACKAGES).map(([name, version]) => `${name}@${version}`);
    throw new StartError(
      `${setting} is set, but the packages that traces take cannot be loaded: ` +
        `${messageOf(error)}\n` +
        'Install them where vectord is installed (in a clone `npm ci` does it):\n\n' +
        `  npm install ${packages.join(' ')}\n\nor unset ${setting} to run without traces.`,
      undefined,
      { cause: error },
    );
  }
}
