import type { Key } from '../auth/keys-file.js';
import type { TlsPair } from '../auth/tls-files.js';
import type { LoopStats } from '../observe/loop-stats.js';
import type { Task } from '../wire/decoder.js';
import type { LoopSettings } from './loop.js';

/** What a loop on a thread is made of. */
export interface LoopThreadData {
  readonly settings: LoopSettings;
  /** The numbers under which it finds what all loops share. */
  readonly engine: number;
  readonly http: number;
  readonly grpc: number;
}

/** A large request that a loop wants to have read. */
export interface LargeRequest {
  /** Names it for `abandon`. */
  readonly number: number;
  readonly task: Task;
}

/** What the main thread does for the thread of a loop. */
export type MainOrders = {
  metrics(none: undefined): Promise<string>;
  read(request: LargeRequest): Promise<object>;
  /** Nobody waits for the request any more. */
  abandon(number: number): void;
};

/** What the thread of a loop does for the main thread. */
export type LoopOrders = {
  /** Makes the loop; answers once it can take connections. It comes first. */
  begin(data: LoopThreadData): Promise<void>;
  setKeys(keys: readonly Key[]): Promise<void>;
  setTlsPair(pair: TlsPair): Promise<void>;
  stats(none: undefined): Promise<LoopStats>;
  close(graceMs: number): Promise<void>;
};
