import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { makeTemporaryFolder, writeKeys } from './folders.js';
import { clusterSettings, startOtherNodes } from './on-cluster.js';
import { Vectord, type Launch } from './vectord.js';

export interface ServerOptions {
  /** Further settings of the service. */
  readonly env?: Readonly<Record<string, string>>;
  /** 4 unless told otherwise. */
  readonly dimension?: number;
  /** A folder of an earlier server, to start on its points; a fresh one unless told otherwise. */
  readonly dataPath?: string;
  readonly keys?: TestKeys;
  readonly launch?: Launch;
}

export interface TestKeys {
  readonly readwrite: string;
  readonly readonly: string;
}

export interface TestServer {
  /** Base address of the HTTP interface, such as http://127.0.0.1:40123. */
  readonly http: string;
  /** Address of the gRPC interface, such as 127.0.0.1:40124. */
  readonly grpc: string;
  readonly keys: TestKeys;
  readonly dataPath: string;
  readonly pid: number;
  /** Ends the process with SIGTERM; resolves with its exit code, null if a signal ended it. */
  stop(): Promise<number | null>;
  /** Ends the process with SIGKILL, as a crash would. */
  kill(): Promise<void>;
  /** All that the process has written so far, on both outputs. */
  log(): string;
  /** The exit code or the signal by which the process has ended; null while it runs. */
  endedBy(): number | string | null;
}

const running = new Set<TestServer>();

afterAll(async () => {
  const codes = await Promise.all([...running].map((server) => server.stop()));
  expect(codes.filter((code) => code !== 0)).toEqual([]);
});

/**
 * Starts the built service as its users do, on free ports, and waits until it is ready. At the end
 * of the file of tests it is stopped, if it still runs, and has to end with 0.
 */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const dataPath = options.dataPath ?? join(makeTemporaryFolder(), 'data');
  const keysPath = join(makeTemporaryFolder(), 'keys.json');
  const keys = options.keys ?? { readwrite: 'test-readwrite-key', readonly: 'test-readonly-key' };
  writeKeys(keysPath, ...Object.entries(keys).map(([role, key]) => ({ role, key })));
  const settings = {
    DIMENSION: String(options.dimension ?? 4),
    DATA_PATH: dataPath,
    SERVICE_KEYS_FILE: keysPath,
    ...(await clusterSettings(dataPath)),
    ...options.env,
  };
  const others = startOtherNodes(dataPath, settings);
  const vectord = await Vectord.start(settings, options.launch);
  await others;
  const server: TestServer = {
    http: vectord.value('HTTP'),
    grpc: vectord.value('gRPC'),
    keys,
    dataPath,
    pid: vectord.process.pid ?? 0,
    stop: async () => (await vectord.stop()).code,
    kill: async () => void (await vectord.stop('SIGKILL')),
    log: () => vectord.stdout + vectord.stderr,
    endedBy: () => vectord.process.exitCode ?? vectord.process.signalCode,
  };
  running.add(server);
  void vectord.exit.then(() => running.delete(server));
  return server;
}
