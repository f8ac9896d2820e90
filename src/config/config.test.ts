import { availableParallelism } from 'node:os';
import { describe, expect, test } from 'vitest';
import { readConfig } from './config.js';
import { Similarity } from '../core/model.js';
import { SETTINGS } from './settings.js';
import { EXIT_BAD_USAGE, StartError } from '../core/start-error.js';

describe('an empty environment', () => {
  test('gives the documented defaults', () => {
    expect(readConfig({})).toEqual({
      dimension: undefined,
      hnswEf: 100,
      hnswM: 16,
      hnswEfConstruction: 200,
      warmMetrics: [],
      graphIdleSeconds: 86_400,
      clusterUrls: undefined,
      clusterName: 'vectord',
      clusterCredentials: undefined,
      clusterReplaces: undefined,
      clusterReplicas: 3,
      clusterShards: 1,
      clusterShard: undefined,
      clusterLogBytes: 8 * 1024 ** 3,
      clusterReads: 'strong',
      httpHost: '127.0.0.1',
      httpPort: 3000,
      httpConsole: true,
      grpcHost: '127.0.0.1',
      grpcPort: 50_051,
      grpcReflection: true,
      tlsCert: undefined,
      tlsKey: undefined,
      tlsClientCa: undefined,
      corsOrigins: [],
      trustedProxies: [],
      loops: Math.min(8, availableParallelism()),
      dataPath: './data',
      serviceKeysFile: undefined,
      segmentBytes: 67_108_864,
      logLevel: 'info',
      slowRequestMs: 1_000,
      metricsOpen: false,
      maxRequestBytes: 67_108_864,
      maxBatch: 100_000,
      maxContentBytes: 1_048_576,
      maxSearchWork: 20_000_000,
      maxInflightBytes: 536_870_912,
      maxFilterIndexBytes: 1_073_741_824,
      maxConnections: 1_024,
    });
  });

  test('gives a configuration that cannot be changed', () => {
    expect(Object.isFrozen(readConfig({}))).toBe(true);
  });
});

test.each([
  ['DIMENSION', '1', 'dimension', 1],
  ['DIMENSION', '65536', 'dimension', 65_536],
  ['HNSW_EF', '250', 'hnswEf', 250],
  ['LOOPS', '1', 'loops', 1],
  ['LOOPS', '64', 'loops', 64],
  ['SLOW_REQUEST_MS', '0', 'slowRequestMs', 0],
  ['METRICS_OPEN', 'on', 'metricsOpen', true],
  ['HTTP_CONSOLE', 'off', 'httpConsole', false],
  ['HNSW_M', '32', 'hnswM', 32],
  ['HNSW_EF_CONSTRUCTION', '100', 'hnswEfConstruction', 100],
  ['HTTP_HOST', '::1', 'httpHost', '::1'],
  ['HTTP_HOST', 'localhost', 'httpHost', 'localhost'],
  ['HTTP_PORT', '0', 'httpPort', 0],
  ['CORS_ORIGINS', '*', 'corsOrigins', ['*']],
  ['CORS_ORIGINS', 'https://a.b, http://c:81', 'corsOrigins', ['https://a.b', 'http://c:81']],
  [
    'TRUSTED_PROXIES',
    '10.0.0.0/8,::1, 192.0.2.1',
    'trustedProxies',
    ['10.0.0.0/8', '::1', '192.0.2.1'],
  ],
  ['GRPC_HOST', '0.0.0.0', 'grpcHost', '0.0.0.0'],
  ['GRPC_PORT', '65535', 'grpcPort', 65_535],
  ['GRPC_REFLECTION', 'off', 'grpcReflection', false],
  ['GRPC_REFLECTION', 'false', 'grpcReflection', false],
  ['GRPC_REFLECTION', 'on', 'grpcReflection', true],
  ['DATA_PATH', '/var/lib/vectord', 'dataPath', '/var/lib/vectord'],
  ['SERVICE_KEYS_FILE', 'keys.json', 'serviceKeysFile', 'keys.json'],
  ['SEGMENT_BYTES', '65536', 'segmentBytes', 65_536],
  ['LOG_LEVEL', 'silent', 'logLevel', 'silent'],
  ['MAX_REQUEST_BYTES', '1024', 'maxRequestBytes', 1024],
  ['MAX_BATCH', '10', 'maxBatch', 10],
  ['MAX_CONTENT_BYTES', '10', 'maxContentBytes', 10],
  ['MAX_SEARCH_WORK', '1000', 'maxSearchWork', 1000],
  ['MAX_INFLIGHT_BYTES', '4096', 'maxInflightBytes', 4096],
  ['MAX_FILTER_INDEX_BYTES', '4096', 'maxFilterIndexBytes', 4096],
  ['MAX_CONNECTIONS', '10', 'maxConnections', 10],
] as const)('%s=%s is taken', (name, text, key, value) => {
  expect(readConfig({ [name]: text })[key]).toEqual(value);
});

test.each([
  ['hamming', [Similarity.Hamming]],
  ['Cosine', [Similarity.Cosine]],
  ['euclidean,cosine', [Similarity.Euclidean, Similarity.Cosine]],
  ['EUCLIDEAN, Manhattan , euclidean', [Similarity.Euclidean, Similarity.Manhattan]],
])('WARM_METRICS=%s is taken', (text, metrics) => {
  expect(readConfig({ WARM_METRICS: text }).warmMetrics).toEqual(metrics);
});

const NOT_INTEGERS = ['', ' ', ' 5', '5 ', '12abc', '1e3', '-1', '+5', '5.0', '0x10', '007', '五'];

const METRICS_EXPECTED = 'one or more of euclidean, manhattan, hamming, cosine between commas';

test.each([
  ...NOT_INTEGERS.map((text) => ['DIMENSION', text, 'an integer from 1 to 65536']),
  ['DIMENSION', '0', 'an integer from 1 to 65536'],
  ['DIMENSION', '65537', 'an integer from 1 to 65536'],
  ['DIMENSION', '9'.repeat(30), 'an integer from 1 to 65536'],
  ['HNSW_EF', '0', 'an integer from 1 to 1000000'],
  ['HNSW_M', '3', 'an integer from 4 to 64'],
  ['HNSW_M', '65', 'an integer from 4 to 64'],
  ['HNSW_EF_CONSTRUCTION', '9', 'an integer from 10 to 2000'],
  ['WARM_METRICS', 'l2', METRICS_EXPECTED],
  ['WARM_METRICS', '', METRICS_EXPECTED],
  ['WARM_METRICS', 'euclidean,', METRICS_EXPECTED],
  ['WARM_METRICS', 'euclidean;cosine', METRICS_EXPECTED],
  ['WARM_METRICS', 'euclidean,constructor', METRICS_EXPECTED],
  ['HTTP_PORT', '65536', 'an integer from 0 to 65535'],
  ['CORS_ORIGINS', 'https://a.b/', 'origins such as https://example.org, or *, between commas'],
  ['CORS_ORIGINS', 'page.example', 'origins such as https://example.org, or *, between commas'],
  ['TRUSTED_PROXIES', '10.0.0.0/33', 'addresses or networks such as 10.0.0.0/8 between commas'],
  ['TRUSTED_PROXIES', '::1,', 'addresses or networks such as 10.0.0.0/8 between commas'],
  ['GRPC_PORT', 'NaN', 'an integer from 0 to 65535'],
  ['HTTP_HOST', '', 'an IP address or a host name'],
  ['HTTP_HOST', 'http://localhost', 'an IP address or a host name'],
  ['GRPC_HOST', '127.0.0.1:50051', 'an IP address or a host name'],
  ['GRPC_REFLECTION', 'TRUE', 'one of true, false, on, off'],
  ['GRPC_REFLECTION', '', 'one of true, false, on, off'],
  ['DATA_PATH', '', 'a path'],
  ['SERVICE_KEYS_FILE', '', 'a path'],
  ['SERVICE_KEYS_FILE', '  ', 'a path'],
  ['SEGMENT_BYTES', '65535', 'an integer from 65536 to 1073741824'],
  ['SEGMENT_BYTES', '1073741825', 'an integer from 65536 to 1073741824'],
  ['LOG_LEVEL', 'INFO', 'one of trace, debug, info, warn, error, fatal, silent'],
  ['LOG_LEVEL', 'constructor', 'one of trace, debug, info, warn, error, fatal, silent'],
  ['MAX_REQUEST_BYTES', '268435457', 'an integer from 1 to 268435456'],
  ['MAX_BATCH', '0', 'an integer from 1 to 10000000'],
  ['MAX_CONTENT_BYTES', '1MiB', 'an integer from 1 to 268435456'],
  ['MAX_SEARCH_WORK', '', 'an integer from 1 to 1000000000000'],
  ['MAX_INFLIGHT_BYTES', '0', 'an integer from 1 to 1099511627776'],
])('%s=%j is refused and the message says what is expected', (name = '', text, expected) => {
  expect(() => readConfig({ [name]: text })).toThrow(
    `${name} is ${JSON.stringify(text)}, expected ${expected}`,
  );
});

test('every setting refuses to be set to nothing', () => {
  for (const { name } of Object.values(SETTINGS)) {
    expect(() => readConfig({ [name]: '' })).toThrow(`${name} is ""`);
  }
});

test('a shard is one of those that there are', () => {
  const environment = { CLUSTER_SHARDS: '2', CLUSTER_SHARD: '1' };
  expect(readConfig(environment)).toMatchObject({ clusterShards: 2, clusterShard: 1 });
  expect(() => readConfig({ ...environment, CLUSTER_SHARD: '2' })).toThrow(
    'CLUSTER_SHARD is 2, expected less than CLUSTER_SHARDS, which is 2',
  );
  expect(thrownBy(() => readConfig({ ...environment, CLUSTER_SHARDS: '0' })).message).toBe(
    'CLUSTER_SHARDS is "0", expected an integer from 1 to 64',
  );
});

test('all faults are reported at once, as a bad usage', () => {
  const environment = { HTTP_PORT: 'http', DIMENSION: '0', LOG_LEVEL: 'loud', MAX_BATCH: '5' };
  const error = thrownBy(() => readConfig(environment));
  expect(error.exitCode).toBe(EXIT_BAD_USAGE);
  expect(error.message.split('\n').map((line) => line.split(' ')[0])).toEqual([
    'DIMENSION',
    'HTTP_PORT',
    'LOG_LEVEL',
  ]);
});

test('what is refused as no number is not refused as too small as well', () => {
  const environment = { CLUSTER_URL: 'nats://host', SERVICE_KEYS_FILE: 'keys.json' };
  for (const [name, text] of [
    ['CLUSTER_LOG_BYTES', 'much'],
    ['MAX_REQUEST_BYTES', 'little'],
  ] as const) {
    const { message } = thrownBy(() => readConfig({ ...environment, [name]: text }));
    expect(message.split('\n')).toEqual([expect.stringContaining(`${name} is "${text}"`)]);
  }
});

test.each(['nats://user:secret@host:port', 'http://user:se/cr@et@host', 'nats://secret@'])(
  'no password of %s is quoted',
  (url) => {
    const { message } = thrownBy(() => readConfig({ CLUSTER_URL: url }));
    expect(message).toContain('CLUSTER_URL is ');
    expect(message).not.toMatch(/secret|se\/cr|et@/);
  },
);

test('a long value is quoted in part and control characters are escaped', () => {
  const { message } = thrownBy(() => readConfig({ HTTP_HOST: `\u001b[2J${'a'.repeat(5000)}/` }));
  expect(message).toContain('\\u001b[2Jaaa');
  expect(message.length).toBeLessThan(200);
});

function thrownBy(action: () => unknown): StartError {
  try {
    action();
  } catch (error) {
    if (error instanceof StartError) return error;
  }
  throw new Error('expected a StartError');
}
