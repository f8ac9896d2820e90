// The thread of a loop, see loop-thread.ts.
import { parentPort, type MessagePort } from 'node:worker_threads';
import { REAL_CLOCK } from '../core/clock.js';
import type { OnRequestEnd } from '../core/request-end.js';
import { Acceptor } from '../engine/acceptor.js';
import { Engine } from '../engine/native.js';
import { createLogger, standardError } from '../observe/logger.js';
import { openTracing } from '../observe/traces/open.js';
import type { LargeReader, Task } from '../wire/decoder.js';
import { ownBytes } from '../wire/transfer.js';
import type { LoopOrders, LoopThreadData, MainOrders } from './loop-orders.js';
import { openClusterPoints } from './cluster.js';
import { Loop } from './loop.js';
import { PortCalls } from './port-calls.js';
import { exitOnDefect } from './shutdown.js';

/** Has the main thread read what takes long: one thread reads for all loops. */
class ReaderOfMain implements LargeReader {
  #last = 0;

  constructor(private readonly main: PortCalls<MainOrders>) {}

  async read({ name, bytes }: Task, onRequestEnd: OnRequestEnd): Promise<object> {
    this.#last += 1;
    const number = this.#last;
    const own = ownBytes(bytes);
    const task: Task = { name, bytes: own };
    let isRead = false;
    onRequestEnd(() => {
      if (!isRead) void this.main.call('abandon', number);
    });
    try {
      return await this.main.call('read', { number, task }, [own.buffer]);
    } finally {
      isRead = true;
    }
  }
}

let loop: Loop | undefined;

const main = new PortCalls<MainOrders>(parentPort as MessagePort, {
  begin: async (data) => void (loop = await open(data)),
  setKeys: async (keys) => await loop?.setKeys(keys),
  setTlsPair: async (pair) => await loop?.setTlsPair(pair),
  stats: async () => await (loop as Loop).stats(),
  close: async (graceMs) => await loop?.close(graceMs),
} satisfies LoopOrders);

async function open({ settings, ...shared }: LoopThreadData): Promise<Loop> {
  const { logLevel, logFormat } = settings.config;
  const logger = createLogger(logLevel, standardError(logFormat));
  exitOnDefect(logger);
  const tracing = await openTracing(settings.config, logger, REAL_CLOCK);
  const engine = Engine.shared(shared.engine);
  return new Loop(settings, {
    engine,
    cluster: await openClusterPoints(settings, engine, logger),
    http: Acceptor.shared(shared.http),
    grpc: Acceptor.shared(shared.grpc),
    large: new ReaderOfMain(main),
    metrics: async () => await main.call('metrics', undefined),
    logger,
    clock: REAL_CLOCK,
    tracing,
  });
}
