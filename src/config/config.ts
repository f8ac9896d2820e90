import { SETTINGS, type Setting } from './settings.js';
import { EXIT_BAD_USAGE, StartError } from '../core/start-error.js';

/** All settings of one run of the service, parsed and within their ranges. */
export type Config = {
  readonly [Key in keyof typeof SETTINGS]: (typeof SETTINGS)[Key]['fallback'];
};

/**
 * Reads the configuration from the environment. A variable that is set must be right, even if it
 * is set to nothing: no value falls back silently, and all faults are reported at once.
 */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  const faults: string[] = [];
  const config = parse(environment, Object.keys(SETTINGS) as (keyof Config)[], faults);
  faults.push(...missingForTls(environment));
  faults.push(...missingForCluster(environment), ...tooSmallForCluster(config));
  faults.push(...noSuchShard(config));
  refuse(faults);
  return config;
}

/** Reads a few of the settings, for a command that needs no others. */
export function readPart<Key extends keyof Config>(
  environment: NodeJS.ProcessEnv,
  keys: readonly Key[],
): Pick<Config, Key> {
  const faults: string[] = [];
  const part = parse(environment, keys, faults);
  refuse(faults);
  return part;
}

function parse<Key extends keyof Config>(
  environment: NodeJS.ProcessEnv,
  keys: readonly Key[],
  faults: string[],
): Pick<Config, Key> {
  const values = keys.map((key) => {
    const setting: Setting<unknown> = SETTINGS[key];
    const text = environment[setting.name];
    if (text === undefined) return [key, setting.fallback];
    const value = setting.parse(text);
    if (value === undefined) {
      faults.push(`${setting.name} is ${quote(text)}, expected ${setting.expected}`);
    }
    return [key, value];
  });
  // Each key holds what the setting of that key parsed, which is how Config is defined.
  return Object.freeze(Object.fromEntries(values)) as Pick<Config, Key>;
}

function refuse(faults: readonly string[]): void {
  if (faults.length > 0) throw new StartError(faults.join('\n'), EXIT_BAD_USAGE);
}

/** A certificate and its key are both set, or neither is: half of a pair must not mean no TLS. */
function missingForTls(environment: NodeJS.ProcessEnv): string[] {
  const { tlsCert, tlsKey, tlsClientCa } = SETTINGS;
  const set = [tlsCert, tlsKey, tlsClientCa].filter(({ name }) => environment[name] !== undefined);
  if (set.length === 0) return [];
  return [tlsCert, tlsKey]
    .filter(({ name }) => environment[name] === undefined)
    .map(
      ({ name }) => `${name} is not set, expected with ${set.map((one) => one.name).join(' and ')}`,
    );
}

/** The nodes of a cluster open to the same keys: none of them makes its own. */
function missingForCluster(environment: NodeJS.ProcessEnv): string[] {
  const { clusterUrls, serviceKeysFile } = SETTINGS;
  if (environment[clusterUrls.name] === undefined) return [];
  if (environment[serviceKeysFile.name] !== undefined) return [];
  return [
    `${serviceKeysFile.name} is not set, expected with ${clusterUrls.name}: a file of keys that all ` +
      'nodes of the cluster have',
  ];
}

/** The stream has to hold several large requests: their parts are not trimmed for a minute. */
const REQUESTS_IN_LOG = 16;

function tooSmallForCluster({ clusterUrls, clusterLogBytes, maxRequestBytes }: Config): string[] {
  const least = REQUESTS_IN_LOG * maxRequestBytes;
  // One of them may be missing, since it was refused already.
  if (clusterUrls === undefined || !(clusterLogBytes < least)) return [];
  return [
    `CLUSTER_LOG_BYTES is ${clusterLogBytes}, expected at least ${least}, which is ` +
      `${REQUESTS_IN_LOG} times MAX_REQUEST_BYTES`,
  ];
}

/** Shards are numbered from 0. */
function noSuchShard({ clusterShard: shard, clusterShards: count }: Config): string[] {
  return shard !== undefined && shard >= count
    ? [`CLUSTER_SHARD is ${shard}, expected less than CLUSTER_SHARDS, which is ${count}`]
    : [];
}

const LONGEST_QUOTE = 80;

/** The value as it was found, on one line and of bounded length. */
function quote(text: string): string {
  // A URL may have a password, with characters that should have been escaped.
  const shown = text.replace(/\/\/\S*@/, '//***@');
  const short = shown.length > LONGEST_QUOTE ? `${shown.slice(0, LONGEST_QUOTE)}...` : shown;
  return JSON.stringify(short);
}
