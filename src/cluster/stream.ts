import { DiscardPolicy, RetentionPolicy, StorageType, type StreamInfo } from '@nats-io/jetstream';
import { messageOf, StartError } from '../core/start-error.js';
import type { Nats } from './nats.js';
import { subjects } from './subjects.js';

const NANOSECONDS = 1e6;

/**
 * For so long a stream drops a message whose id it knows. Messages that are too late are void long
 * before, see `isVoid` in message.ts.
 */
const DUPLICATES_MS = 120_000;

/** Streams and the map have so many replicas in NATS, whatever the number of nodes, or one for one node. */
export function natsReplicas(nodes: number): number {
  return nodes === 1 ? 1 : 3;
}

/** Makes the stream of a shard, unless it is there. */
export async function createStream(
  nats: Nats,
  cluster: string,
  shard: number,
  nodes: number,
  maxBytes: number,
): Promise<StreamInfo> {
  const manager = await nats.manager();
  const stream = {
    name: subjects.stream(cluster, shard),
    subjects: [subjects.log(cluster, shard)],
    num_replicas: natsReplicas(nodes),
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    deny_delete: true,
    max_bytes: maxBytes,
    duplicate_window: DUPLICATES_MS * NANOSECONDS,
  };
  try {
    return await manager.streams.add(stream);
  } catch (error) {
    if (!/insufficient/.test(messageOf(error))) throw error;
    throw new StartError(
      `the NATS servers have no room for ${maxBytes} bytes of writes (CLUSTER_LOG_BYTES): ` +
        `${messageOf(error)}. Set it to less, or give the servers a larger max_file_store`,
    );
  }
}
