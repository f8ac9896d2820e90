import { DiscardPolicy, RetentionPolicy, StorageType, type StreamInfo } from '@nats-io/jetstream';
import { messageOf, StartError } from '../../core/start-error.js';
import type { Nats } from './nats.js';
import { subjects } from './subjects.js';

const NANOSECONDS = 1e6;

/**
 * For so long a stream drops a message whose id it knows. Messages that are too late are void long
 * before, see `isVoid` in message.ts.
 */
const DUPLICATES_MS = 120_000;

/** Streams and the map have three replicas in NATS, or one where each shard has one. */
export function natsReplicas(replicas: number): number {
  return replicas === 1 ? 1 : 3;
}

/** Makes the stream of a shard, unless it is there with the same settings, whatever its size. */
export async function createStream(
  nats: Nats,
  cluster: string,
  shard: number,
  nodes: number,
  maxBytes: number,
): Promise<StreamInfo> {
  const manager = await nats.manager();
  const name = subjects.stream(cluster, shard);
  const settings = settingsOf(cluster, shard, nodes);
  try {
    return await manager.streams.add({ name, max_bytes: maxBytes, ...settings });
  } catch (error) {
    const reason = messageOf(error);
    if (/already in use/.test(reason)) {
      const info = await manager.streams.info(name);
      checkSettings(info, settings);
      return info;
    }
    if (!/insufficient/.test(reason)) throw error;
    throw new StartError(
      `the NATS servers have no room for the ${maxBytes} bytes of writes of shard ${shard} ` +
        `(CLUSTER_LOG_BYTES): ${reason}. Set it to less, or give the servers a larger max_file_store`,
    );
  }
}

/**
 * What is wrong with the size of a stream that was made before, if something is. Throws a StartError
 * where it has other settings than it was made with. Of one that has gone the follower tells.
 */
export async function streamFault(
  nats: Nats,
  cluster: string,
  shard: number,
  nodes: number,
  maxBytes: number,
): Promise<string | undefined> {
  const manager = await nats.manager();
  const name = subjects.stream(cluster, shard);
  const info = await manager.streams.info(name).catch((error: unknown) => {
    if (messageOf(error) !== 'stream not found') throw error;
  });
  if (info === undefined) return undefined;
  checkSettings(info, settingsOf(cluster, shard, nodes));
  const { max_bytes: found } = info.config;
  if (found === maxBytes) return undefined;
  return (
    `CLUSTER_LOG_BYTES is ${maxBytes}, but the stream ${name} has ${found}, which stay: set it to ` +
    `${found}, or change the stream by \`nats stream edit ${name} --max-bytes ${maxBytes}\``
  );
}

/** What a stream is made with, besides its name and its size. */
function settingsOf(cluster: string, shard: number, nodes: number) {
  return {
    subjects: [subjects.log(cluster, shard)],
    num_replicas: natsReplicas(nodes),
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    deny_delete: true,
    deny_purge: false,
    max_age: 0,
    max_msgs: -1,
    max_msgs_per_subject: -1,
    max_msg_size: -1,
    duplicate_window: DUPLICATES_MS * NANOSECONDS,
  };
}

/** NATS may be told later to keep more replicas of a stream. */
function checkSettings({ config }: StreamInfo, settings: ReturnType<typeof settingsOf>): void {
  const found = { ...config, num_replicas: Math.min(config.num_replicas, settings.num_replicas) };
  for (const [name, value] of Object.entries(settings)) {
    const [is, should] = [found[name as keyof typeof settings], value].map((x) =>
      JSON.stringify(x),
    );
    if (is === should) continue;
    throw new StartError(
      `the stream ${config.name} of the NATS servers has ${name} ${is}, expected ${should}: set it back ` +
        'if it is that of this cluster, or give the cluster another name (CLUSTER_NAME)',
    );
  }
}
