import { DiscardPolicy, RetentionPolicy, StorageType, type StreamInfo } from '@nats-io/jetstream';
import type { Nats } from './nats.js';
import { subjects } from './subjects.js';

const NANOSECONDS = 1e6;

/** What a stream keeps at most; writes are refused beyond it. */
const MOST_BYTES = 8 * 2 ** 30;

/**
 * For so long a stream drops a message whose id it knows. Messages that are too late are void long
 * before, see `isVoid` in message.ts.
 */
const DUPLICATES_MS = 120_000;

/** Makes the stream of a shard, unless it is there. */
export async function createStream(
  nats: Nats,
  cluster: string,
  shard: number,
  replicas: number,
): Promise<StreamInfo> {
  const manager = await nats.manager();
  return await manager.streams.add({
    name: subjects.stream(cluster, shard),
    subjects: [subjects.log(cluster, shard)],
    num_replicas: replicas,
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    deny_delete: true,
    max_bytes: MOST_BYTES,
    duplicate_window: DUPLICATES_MS * NANOSECONDS,
  });
}
