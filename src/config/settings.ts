import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import type { LevelWithSilent } from 'pino';
import { Similarity } from '../core/model.js';

/**
 * One environment variable: how it is called, what it means, which texts it takes and what holds
 * when it is not set. Parsing, `--help` and the table in docs/CONFIGURATION.md are all made from these.
 */
export interface Setting<Value> {
  readonly name: string;
  readonly meaning: string;
  /** What a text must be, in words that follow "expected". */
  readonly expected: string;
  readonly fallback: Value;
  readonly fallbackText: string;
  /** The value that `text` spells; undefined if it spells none. */
  readonly parse: (text: string) => NonNullable<Value> | undefined;
}

const KIB = 1024;
const MIB = 1024 * KIB;
const DAY_SECONDS = 86_400;

/**
 * A whole request is held in memory, decoded, and where it is JSON becomes a string, of which V8
 * takes at most 512 MiB: half of that leaves room for both.
 */
const GREATEST_REQUEST_BYTES = 256 * MIB;

/**
 * A change has at most so many bytes in a cluster, whatever MAX_REQUEST_BYTES is, as all replicas have to
 * agree: a number takes two bytes of JSON at least, and four of a change.
 */
export const MOST_CHANGE_BYTES = 2 * GREATEST_REQUEST_BYTES;

/** A loop takes some 30 MiB, and one serves thousands of searches a second. */
const MOST_LOOPS_UNASKED = 8;

const LOG_LEVELS: ReadonlyMap<string, LevelWithSilent> = new Map(
  (['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const).map((level) => [
    level,
    level,
  ]),
);

const LOG_FORMATS: ReadonlyMap<string, 'json' | 'pretty'> = new Map([
  ['json', 'json'],
  ['pretty', 'pretty'],
]);

const SWITCH: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
  ['on', true],
  ['off', false],
]);

/** The most replicas that a shard may have. */
export const MOST_REPLICAS = 7;

/** A search asks all of them, so few large ones cost less than many small ones. */
const MOST_SHARDS = 64;

const READ_MODES: ReadonlyMap<string, 'strong' | 'session'> = new Map([
  ['strong', 'strong'],
  ['session', 'session'],
]);

/** Environment variables are often written in lower case: names are compared in it. */
const METRICS: ReadonlyMap<string, Similarity> = new Map(
  Object.entries(Similarity).map(([name, number]) => [name.toLowerCase(), number]),
);

/** Every setting of the service, under its name in the configuration. */
export const SETTINGS = {
  dimension: optional(
    integer('DIMENSION', 384, [1, 65_536], 'Numbers in each vector, stored or queried'),
    'what DATA_PATH remembers, else 384',
  ),
  hnswEf: integer(
    'HNSW_EF',
    100,
    [1, 1_000_000],
    'Search breadth of a query that names no ef; in /v1 twice its limit, if that is more',
  ),
  hnswM: integer(
    'HNSW_M',
    16,
    [4, 64],
    'Links of a point in a graph, twice as many in its lowest layer; a change rebuilds it',
  ),
  hnswEfConstruction: integer(
    'HNSW_EF_CONSTRUCTION',
    200,
    [10, 2_000],
    'Breadth of the search for those links; a change rebuilds the graphs',
  ),
  warmMetrics: metrics(
    'WARM_METRICS',
    'Similarities whose graphs are kept from the start on, not from the first search on',
  ),
  graphIdleSeconds: defaulting(
    integer(
      'GRAPH_IDLE_SECONDS',
      DAY_SECONDS,
      [0, 365 * DAY_SECONDS],
      'A graph without a search for so long is given back, unless it is kept warm; 0 keeps all',
    ),
    DAY_SECONDS,
    `${DAY_SECONDS} (a day)`,
  ),
  httpHost: host('HTTP_HOST', 'Address that the HTTP interface listens on'),
  httpPort: port('HTTP_PORT', 3000, 'Port of the HTTP interface; 0 picks a free one'),
  httpConsole: choice(
    'HTTP_CONSOLE',
    'true',
    SWITCH,
    'Whether /console answers the console, a page for browsers',
  ),
  grpcHost: host('GRPC_HOST', 'Address that the gRPC interface listens on'),
  grpcPort: port('GRPC_PORT', 50_051, 'Port of the gRPC interface; 0 picks a free one'),
  grpcReflection: choice(
    'GRPC_REFLECTION',
    'true',
    SWITCH,
    'Whether gRPC clients may ask what the interface is, without a key',
  ),
  tlsCert: optional(
    path('TLS_CERT', '', 'File of the TLS certificate of both interfaces, and its chain, in PEM'),
    'none: without TLS',
  ),
  tlsKey: optional(path('TLS_KEY', '', 'File of the key of that certificate, in PEM'), 'none'),
  tlsClientCa: optional(
    path('TLS_CLIENT_CA', '', 'File of the CA that signs the certificates that clients must have'),
    'none: clients need no certificate',
  ),
  corsOrigins: list(
    'CORS_ORIGINS',
    'Whose pages may use the HTTP interface from a browser',
    'origins such as https://example.org, or *,',
    'none',
    isOrigin,
  ),
  trustedProxies: list(
    'TRUSTED_PROXIES',
    'Proxies whose connections carry many clients: limits for one connection do not hold for them',
    'addresses or networks such as 10.0.0.0/8',
    'none',
    isNetwork,
  ),
  loops: defaulting(
    integer('LOOPS', 1, [1, 64], 'Event loops that answer requests, each on a core of its own'),
    Math.min(MOST_LOOPS_UNASKED, availableParallelism()),
    'as many as cores, at most 8',
  ),
  dataPath: path('DATA_PATH', './data', 'Folder of the stored points; made when it is missing'),
  serviceKeysFile: optional(
    path('SERVICE_KEYS_FILE', '', 'File of the API keys and their roles'),
    'keys.json in DATA_PATH, made at the first start',
  ),
  segmentBytes: bytes(
    'SEGMENT_BYTES',
    64,
    [64 * KIB, 1024 * MIB],
    'Greatest usual size of a file of the log; the space of deleted points comes back file by file',
  ),
  logLevel: choice('LOG_LEVEL', 'info', LOG_LEVELS, 'Least level of the lines in the log'),
  logFormat: optional(
    choice('LOG_FORMAT', 'json', LOG_FORMATS, 'Lines of the log as JSON, or for people to read'),
    'pretty on a terminal, else json',
  ),
  slowRequestMs: integer(
    'SLOW_REQUEST_MS',
    1_000,
    [0, 3_600_000],
    'A request that takes longer is logged with what made it heavy; 0 logs none',
  ),
  otlpEndpoint: optional(
    url('OTEL_EXPORTER_OTLP_ENDPOINT', 'Collector of OpenTelemetry that gets traces at v1/traces'),
    'none: no traces',
  ),
  otlpTracesEndpoint: optional(
    url('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'The same with the whole path, for traces alone'),
    'none',
  ),
  clusterUrls: optional(
    list(
      'CLUSTER_URL',
      'NATS servers of the cluster that this service is a node of',
      'URLs such as nats://10.0.0.1:4222 or tls://user:password@10.0.0.1:4222,',
      '',
      isNatsUrl,
    ),
    'none: a single server',
  ),
  clusterName: identifier(
    'CLUSTER_NAME',
    'vectord',
    'Name of the cluster, with which its streams and subjects in NATS begin',
  ),
  clusterCredentials: optional(
    path('CLUSTER_CREDENTIALS', '', 'File of credentials for the NATS servers, as nsc makes it'),
    'none',
  ),
  clusterReplaces: optional(
    identifier(
      'CLUSTER_REPLACES',
      '',
      'Id of a node that is lost for good, whose place a node with a new data folder takes',
      36,
    ),
    'none',
  ),
  clusterReplicas: integer(
    'CLUSTER_REPLICAS',
    3,
    [1, MOST_REPLICAS],
    'Nodes that each shard of the cluster is made with, each of which has all of its points',
  ),
  clusterShards: integer(
    'CLUSTER_SHARDS',
    1,
    [1, MOST_SHARDS],
    'Shards that the cluster is made with, each of which has its part of the points',
  ),
  clusterShard: optional(
    integer(
      'CLUSTER_SHARD',
      0,
      [0, MOST_SHARDS - 1],
      'Number of the shard that a new node enters, from 0',
    ),
    'the one with the fewest nodes',
  ),
  clusterLogBytes: bytes(
    'CLUSTER_LOG_BYTES',
    8 * 1024,
    [16 * MIB, 1024 * 1024 * MIB],
    'Most that the NATS servers keep of the writes; they reserve it when the cluster is made',
  ),
  clusterReads: choice(
    'CLUSTER_READS',
    'strong',
    READ_MODES,
    'Whether a read sees all acknowledged writes, or those that its node has acknowledged',
  ),
  metricsOpen: choice('METRICS_OPEN', 'false', SWITCH, 'Whether /metrics answers without a key'),
  maxRequestBytes: bytes(
    'MAX_REQUEST_BYTES',
    64,
    [1, GREATEST_REQUEST_BYTES],
    'Greatest size of one request, after decompression',
  ),
  maxBatch: integer('MAX_BATCH', 100_000, [1, 10_000_000], 'Most items in one batch'),
  maxContentBytes: bytes(
    'MAX_CONTENT_BYTES',
    1,
    [1, GREATEST_REQUEST_BYTES],
    'Greatest size of the content of one payload',
  ),
  maxSearchWork: integer(
    'MAX_SEARCH_WORK',
    20_000_000,
    [1, 1_000_000_000_000],
    'Most candidates of one batch search: the sum of max(ef, min(limit, points))',
  ),
  maxInflightBytes: bytes(
    'MAX_INFLIGHT_BYTES',
    512,
    [1, 1024 * 1024 * MIB],
    'Greatest size of all requests being answered and of their answers, on both interfaces',
  ),
  maxFilterIndexBytes: bytes(
    'MAX_FILTER_INDEX_BYTES',
    1024,
    [1, 1024 * 1024 * MIB],
    'Greatest memory of the index by which filters are answered; beyond it they read the points',
  ),
  maxConnections: integer(
    'MAX_CONNECTIONS',
    1_024,
    [1, 65_536],
    'Most connections of each interface at one time; the one without a key for longest gives way, else one more is closed',
  ),
} as const satisfies Record<string, Setting<unknown>>;

function integer(
  name: string,
  fallback: number,
  [least, greatest]: readonly [number, number],
  meaning: string,
): Setting<number> {
  return {
    name,
    meaning,
    expected: `an integer from ${least} to ${greatest}`,
    fallback,
    fallbackText: String(fallback),
    parse(text) {
      if (!/^(?:0|[1-9][0-9]{0,14})$/.test(text)) return undefined;
      const value = Number(text);
      return value >= least && value <= greatest ? value : undefined;
    },
  };
}

function bytes(
  name: string,
  fallbackMib: number,
  range: readonly [number, number],
  meaning: string,
): Setting<number> {
  const setting = integer(name, fallbackMib * MIB, range, meaning);
  return { ...setting, fallbackText: `${setting.fallbackText} (${fallbackMib} MiB)` };
}

function port(name: string, fallback: number, meaning: string): Setting<number> {
  return integer(name, fallback, [0, 65_535], meaning);
}

function host(name: string, meaning: string): Setting<string> {
  const fallback = '127.0.0.1';
  const hostName = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_.])?$/i;
  return {
    name,
    meaning,
    expected: 'an IP address or a host name',
    fallback,
    fallbackText: fallback,
    parse: (text) => (isIP(text) !== 0 || hostName.test(text) ? text : undefined),
  };
}

function path(name: string, fallback: string, meaning: string): Setting<string> {
  return {
    name,
    meaning,
    expected: 'a path',
    fallback,
    fallbackText: fallback,
    parse: (text) => (text.trim() === '' ? undefined : text),
  };
}

function identifier(
  name: string,
  fallback: string,
  meaning: string,
  longest = 32,
): Setting<string> {
  return {
    name,
    meaning,
    expected: `letters, digits, - and _, at most ${longest}`,
    fallback,
    fallbackText: fallback,
    parse: (text) => (/^[\w-]+$/.test(text) && text.length <= longest ? text : undefined),
  };
}

function url(name: string, meaning: string): Setting<string> {
  return {
    name,
    meaning,
    expected: 'an http or https URL',
    fallback: '',
    fallbackText: '',
    parse: (text) => (/^https?:\/\//i.test(text) && URL.canParse(text) ? text : undefined),
  };
}

function choice<Value extends string | boolean>(
  name: string,
  fallbackText: string,
  choices: ReadonlyMap<string, Value>,
  meaning: string,
): Setting<Value> {
  const fallback = choices.get(fallbackText);
  if (fallback === undefined) throw new TypeError(`${name} cannot be ${fallbackText}`);
  return {
    name,
    meaning,
    expected: `one of ${[...choices.keys()].join(', ')}`,
    fallback,
    fallbackText,
    parse: (text) => choices.get(text),
  };
}

function metrics(name: string, meaning: string): Setting<readonly Similarity[]> {
  return {
    name,
    meaning,
    expected: `one or more of ${[...METRICS.keys()].join(', ')} between commas`,
    fallback: [],
    fallbackText: 'no similarity',
    parse(text) {
      const found = text.split(',').map((item) => METRICS.get(item.trim().toLowerCase()));
      const known = found.filter((metric) => metric !== undefined);
      return known.length === found.length ? [...new Set(known)] : undefined;
    },
  };
}

/** Texts between commas, each of which `isItem` takes. */
function list(
  name: string,
  meaning: string,
  items: string,
  fallbackText: string,
  isItem: (text: string) => boolean,
): Setting<readonly string[]> {
  return {
    name,
    meaning,
    expected: `${items} between commas`,
    fallback: [],
    fallbackText,
    parse(text) {
      const found = text.split(',').map((item) => item.trim());
      return found.every(isItem) ? found : undefined;
    },
  };
}

/** An origin as browsers write it, to the letter: it is compared and not parsed. */
function isOrigin(text: string): boolean {
  return text === '*' || (URL.canParse(text) && new URL(text).origin === text);
}

function isNatsUrl(text: string): boolean {
  if (!/^(?:nats|tls):\/\//.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

function isNetwork(text: string): boolean {
  const [address = '', bits, more] = text.split('/');
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  if (bits === undefined) return most > 0;
  return more === undefined && /^\d{1,3}$/.test(bits) && Number(bits) <= most;
}

/** The same setting with a default that depends on the machine. */
function defaulting<Value>(
  setting: Setting<Value>,
  fallback: Value,
  fallbackText: string,
): Setting<Value> {
  return { ...setting, fallback, fallbackText };
}

/** The same setting where not being set means something else than a value of its own. */
function optional<Value extends string | number | readonly string[]>(
  setting: Setting<Value>,
  fallbackText: string,
): Setting<Value | undefined> {
  return { ...setting, fallback: undefined, fallbackText };
}
