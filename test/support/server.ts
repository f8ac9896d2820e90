import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const START_TIMEOUT_MS = 20_000;

const children = new Set<ChildProcess>();
const folders = new Set<string>();

/** Whatever the tests did: no server outlives them, and no folder of theirs stays. */
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
// Vitest ends its workers with a signal, which alone would pass over the above.
process.once('SIGTERM', () => process.exit());

export interface ServerOptions {
  /** Further settings of the service. */
  readonly env?: Readonly<Record<string, string>>;
  /** 4 unless told otherwise. */
  readonly dimension?: number;
  /** A folder of an earlier server, to start on its points; a fresh one unless told otherwise. */
  readonly dataPath?: string;
  readonly keys?: TestKeys;
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
}

/** Starts the built service as its users do, on free ports, and waits until it is ready. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const keys = options.keys ?? { readwrite: 'test-readwrite-key', readonly: 'test-readonly-key' };
  const dataPath = options.dataPath ?? join(makeTemporaryFolder(), 'data');
  const child = spawn(process.execPath, [MAIN], {
    env: {
      HTTP_PORT: '0',
      GRPC_PORT: '0',
      DIMENSION: String(options.dimension ?? 4),
      DATA_PATH: dataPath,
      SERVICE_KEYS_FILE: writeKeysFile(keys),
      ...options.env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  const exited = once(child, 'exit').finally(() => children.delete(child));

  let output = '';
  const ready = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        if (/^ready$/m.test(output)) resolve();
      });
    }
  });
  await Promise.race([ready, failure(exited, () => output)]);

  return {
    http: lineValue(output, 'HTTP'),
    grpc: lineValue(output, 'gRPC'),
    keys,
    dataPath,
    pid: child.pid ?? 0,
    async stop() {
      child.kill('SIGTERM');
      await exited;
      return child.exitCode;
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
    log: () => output,
  };
}

async function failure(exited: Promise<unknown>, output: () => string): Promise<never> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise((resolve) => {
    timer = setTimeout(resolve, START_TIMEOUT_MS);
    timer.unref();
  });
  await Promise.race([exited, timeout]);
  clearTimeout(timer);
  throw new Error(`the server did not get ready:\n${output()}`);
}

/** What follows `label` in the start block. */
function lineValue(output: string, label: string): string {
  const value = new RegExp(`^ *${label} +(\\S+)$`, 'm').exec(output)?.[1];
  if (value === undefined) throw new Error(`no line with ${label} in:\n${output}`);
  return value;
}

function writeKeysFile(keys: TestKeys): string {
  const path = join(makeTemporaryFolder(), 'keys.json');
  const entries = Object.entries(keys).map(([role, key]) => ({ name: role, role, key }));
  writeFileSync(path, JSON.stringify({ keys: entries }), { mode: 0o600 });
  return path;
}

/** A folder that is gone once the tests are. */
export function makeTemporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'vectord-test-'));
  folders.add(folder);
  return folder;
}
