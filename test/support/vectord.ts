import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { makeTemporaryFolder, writeKeys } from './folders.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const MAIN = join(ROOT, 'dist/main.js');

/** Two loops, whatever the machine has, unless all tests are to run with another number. */
const LOOPS = process.env['LOOPS'] ?? '2';

/** How long a busy machine may take for what a test waits for. */
const PATIENCE_MS = 20_000;
/** How long for a start, in which a node of a cluster may wait twice for 5 s to fetch its points. */
const START_PATIENCE_MS = 40_000;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** What starts the process, and how. */
export interface Launch {
  readonly command?: readonly string[];
  /** A command that ends in starting the one that follows it. */
  readonly wrapper?: readonly string[];
  readonly cwd?: string;
  /** Whether it leads a group of processes of its own. */
  readonly detached?: boolean;
}

/**
 * Whether the gRPC services are mounted on nice-grpc's own server. The tests of the contract must
 * hold there, too; what that server cannot be brought to is skipped, with the reason.
 */
export const ON_NICE_GRPC = process.env['VECTORD_NICE_GRPC'] === '1';

const PRELOAD = fileURLToPath(new URL('./nice-grpc/preload.mjs', import.meta.url));
const NODE = [process.execPath, ...(ON_NICE_GRPC ? ['--import', PRELOAD] : []), MAIN];
export const NPM_START: Launch = { command: ['npm', 'start'], cwd: ROOT, detached: true };

/** The process `vectord` as an operator sees it: arguments, environment, output and signals. */
export class Vectord {
  stdout = '';
  stderr = '';
  /** Resolves once the process has ended and all its output is here. */
  readonly exit: Promise<Exit>;
  readonly process: ChildProcessByStdio<null, Readable, Readable>;

  /** Picks free ports unless `environment` says otherwise. */
  constructor(
    environment: Record<string, string>,
    args: readonly string[] = [],
    { command = NODE, wrapper = [], ...options }: Launch = {},
  ) {
    const [program = '', ...rest] = [...wrapper, ...command, ...args];
    this.process = spawn(program, rest, {
      ...options,
      env: { HTTP_PORT: '0', GRPC_PORT: '0', LOOPS, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.process.stdout.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.process.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.exit = once(this.process, 'close').then(([code, signal]) => ({ code, signal }));
    started.add(this);
    void this.exit.then(() => started.delete(this));
  }

  static async start(environment: Record<string, string>, launch?: Launch): Promise<Vectord> {
    const vectord = new Vectord(environment, [], launch);
    await vectord.until(() => /^ready$/m.test(vectord.stdout), START_PATIENCE_MS);
    return vectord;
  }

  /** Waits until something has shown in the output; fails if the process ends before. */
  async until(condition: () => boolean, patienceMs = PATIENCE_MS): Promise<void> {
    const ended = this.exit.then(() => true);
    const giveUpAtMs = performance.now() + patienceMs;
    while (!condition()) {
      const sleep = new Promise<false>((resolve) => setTimeout(resolve, 10, false));
      const isOver = (await Promise.race([ended, sleep])) || performance.now() > giveUpAtMs;
      if (isOver && !condition()) {
        throw new Error(`vectord did not come to that:\n${this.stdout}${this.stderr}`);
      }
    }
  }

  /** The value of a line of the start block. */
  value(label: string): string {
    const value = new RegExp(`^ +${label} +(.+)$`, 'm').exec(this.stdout)?.[1];
    if (value === undefined) throw new Error(`no ${label} in:\n${this.stdout}`);
    return value;
  }

  /** What it takes to speak to a service in its own folder. */
  get addresses() {
    const keys = { readwrite: 'the-key', readonly: '' };
    return { http: this.value('HTTP'), grpc: this.value('gRPC'), keys };
  }

  /** Stores a point of 4 dimensions and answers with the status. */
  async insert(key: string): Promise<number> {
    const response = await fetch(`${this.value('HTTP')}/points`, {
      method: 'POST',
      headers: { 'api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(POINT),
    });
    await response.text();
    return response.status;
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    this.process.kill(signal);
    return await this.exit;
  }
}

export const POINT = { vector: [1, 2, 3, 4], payload: { content_type: 'Text', content: 'x' } };

const started = new Set<Vectord>();

// Whatever the tests did, no process outlives them, nor the folder that it writes to.
process.prependOnceListener('exit', () => {
  for (const vectord of started) vectord.process.kill('SIGKILL');
});

/**
 * For the test that calls it, or that is about to begin: a folder, and the settings of a service in
 * it that knows the key `the-key`. What still runs at the end of the test is ended, and the folder
 * goes.
 */
export function ownFolder() {
  const folder = makeTemporaryFolder();
  onTestFinished(async () => {
    await Promise.all([...started].map((vectord) => vectord.stop('SIGKILL')));
    rmSync(folder, { recursive: true });
  });
  const dataPath = join(folder, 'data');
  const keysPath = join(folder, 'keys.json');
  writeKeys(keysPath, { role: 'readwrite', key: 'the-key' });
  const environment = { DATA_PATH: dataPath, SERVICE_KEYS_FILE: keysPath, DIMENSION: '4' };
  return { folder, dataPath, keysPath, environment };
}
