import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { compressionAlgorithms, type ChannelOptions } from '@grpc/grpc-js';
import { GRPC_GO_CLIENT, GRPC_PYTHON } from '../../support/tools.mjs';
import { GrpcJsClient } from './grpc-js.js';
import { NiceGrpcClient } from './nice-grpc.js';
import type { OpenClient } from './step-client.js';
import { outliveServer, runStep, type StepName } from './steps.js';

const PYTHON_CLIENT = fileURLToPath(new URL('./client.py', import.meta.url));
const PROTO_FOLDER = fileURLToPath(new URL('../../../proto', import.meta.url));

/** How often a client asks whether its idle connection is there: grpc-go allows no less. */
export const KEEPALIVE_MS = 10_000;

const JAVASCRIPT_OPTIONS: ChannelOptions = {
  'grpc.max_receive_message_length': -1,
  'grpc.keepalive_time_ms': KEEPALIVE_MS,
  'grpc.keepalive_permit_without_calls': 1,
};

export type Encoding = 'gzip' | 'deflate';

/** Does the steps with one client on one connection; a step that fails rejects. */
export interface Driver {
  run(step: StepName): Promise<void>;
  /** Inserts and searches a batch with compressed requests. */
  runCompressed(encoding: Encoding): Promise<void>;
  /** Has calls under way while the server stops. */
  outliveServer(): Promise<void>;
  close(): Promise<void>;
}

export interface TestedClient {
  readonly name: string;
  readonly isInstalled: boolean;
  readonly encodings: readonly Encoding[];
  start(address: string, key: string): Driver;
}

export const TESTED_CLIENTS: readonly TestedClient[] = [
  inJavaScript('grpc-js', (...args) => new GrpcJsClient(...args)),
  inJavaScript('nice-grpc', (...args) => new NiceGrpcClient(...args)),
  inPython('grpc-python, synchronous', 'sync'),
  inPython('grpc-python, asyncio', 'asyncio'),
  {
    name: 'grpc-go',
    isInstalled: existsSync(GRPC_GO_CLIENT),
    encodings: ['gzip'],
    start: (...addressAndKey) => new Program(GRPC_GO_CLIENT, addressAndKey),
  },
];

function inJavaScript(name: string, open: OpenClient): TestedClient {
  return {
    name,
    isInstalled: true,
    encodings: ['gzip', 'deflate'],
    start: (address, key) => new Library(open, address, key),
  };
}

function inPython(name: string, api: 'sync' | 'asyncio'): TestedClient {
  return {
    name,
    isInstalled: existsSync(GRPC_PYTHON),
    encodings: ['gzip', 'deflate'],
    start: (...addressAndKey) =>
      new Program(GRPC_PYTHON, [PYTHON_CLIENT, PROTO_FOLDER, api, ...addressAndKey]),
  };
}

/** A client in this process. */
class Library implements Driver {
  readonly #client;

  constructor(
    private readonly open: OpenClient,
    private readonly address: string,
    private readonly key: string,
  ) {
    this.#client = open(address, key, JAVASCRIPT_OPTIONS);
  }

  run(step: StepName): Promise<void> {
    return runStep(step, this.#client);
  }

  async runCompressed(encoding: Encoding): Promise<void> {
    const client = this.open(this.address, this.key, {
      ...JAVASCRIPT_OPTIONS,
      'grpc.default_compression_algorithm': compressionAlgorithms[encoding],
    });
    await runStep('batch', client);
    client.close();
  }

  outliveServer(): Promise<void> {
    return outliveServer(this.#client);
  }

  async close(): Promise<void> {
    this.#client.close();
  }
}

/** A client in another language: reads the names of steps, and answers each with a line. */
class Program implements Driver {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  constructor(program: string, args: readonly string[]) {
    this.#process = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface(this.#process.stdout)[Symbol.asyncIterator]();
  }

  run(step: StepName): Promise<void> {
    return this.#run(step);
  }

  runCompressed(encoding: Encoding): Promise<void> {
    return this.#run(encoding);
  }

  outliveServer(): Promise<void> {
    return this.#run('stop');
  }

  /** Fails unless the program ends by itself when it has nothing more to do. */
  async close(): Promise<void> {
    const ended = this.#process.exitCode ?? once(this.#process, 'exit').then(([code]) => code);
    this.#process.stdin.end();
    const code: unknown = await ended;
    if (code !== 0) throw new Error(`the client ended with ${String(code)}`);
  }

  async #run(step: string): Promise<void> {
    this.#process.stdin.write(`${step}\n`);
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error(`the client ended within ${step}`);
    if (value !== 'ok') throw new Error(value);
  }
}
