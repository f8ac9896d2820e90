import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config/config.js';
import { messageOf, StartError } from '../../core/start-error.js';
import type { Logger } from '../../observe/logger.js';
import { MapStore, shardOfNode, type ClusterMap } from './map.js';
import type { Nats } from '../nats/nats.js';
import type { NodeFile } from './node-file.js';
import { askNode } from './node-reports.js';
import { describeMissing, enter, isFull, newMap } from './placement.js';
import { createStream, natsReplicas, streamFault } from '../nats/stream.js';
import { subjects } from '../nats/subjects.js';

const LOOK_MS = 250;
/** A start that waits for other nodes says so this often. */
const WAITING_LINE_MS = 5_000;

/**
 * The map of the cluster, once all its nodes are in it: the first makes it, each enters its id, and
 * the streams of the shards are made last. Throws a StartError where this node has no place in it.
 */
export async function joinCluster(
  nats: Nats,
  config: Config,
  file: NodeFile,
  logger: Logger,
): Promise<ClusterMap> {
  const { clusterName: cluster } = config;
  const bucket = await patiently(
    async () => await nats.bucket(subjects.bucket(cluster), natsReplicas(config.clusterReplicas)),
    cluster,
    logger,
  );
  const store = new MapStore(bucket);
  const joined = await patiently(
    async () => {
      const known = await store.read();
      await refuseRunning(known?.map, nats, config, file);
      const map = enter(known?.map ?? newMap(config), config, file);
      const made = isFull(map) ? await withStreams(map, nats, config) : map;
      if (made !== known?.map) await store.write(made, known?.revision);
      if (!isFull(made)) throw new Error(describeMissing(made));
      return made;
    },
    cluster,
    logger,
  );
  const shard = shardOfNode(joined, file.node) ?? 0;
  const fault = await patiently(
    async () => await streamFault(nats, cluster, shard, joined.replicas, config.clusterLogBytes),
    cluster,
    logger,
  );
  if (fault !== undefined) logger.warn(fault);
  return joined;
}

/** Throws a StartError where the node whose place this one is to take runs: it would be thrown out. */
async function refuseRunning(
  map: ClusterMap | undefined,
  nats: Nats,
  { clusterName: cluster, clusterReplaces: lost }: Config,
  { node }: NodeFile,
): Promise<void> {
  if (map === undefined || lost === undefined) return;
  if (shardOfNode(map, lost) === undefined || shardOfNode(map, node) !== undefined) return;
  const report = await askNode(nats, cluster, lost);
  if (report === undefined && nats.isConnected) return;
  if (report === undefined) throw new Error('no NATS server is connected');
  throw new StartError(
    `CLUSTER_REPLACES is ${lost}, but that node runs on ${report.host} and answers, expected the id of one ` +
      'that is lost: `vectord cluster status` says which does not answer. To replace this one, stop it ' +
      'first for good; else unset CLUSTER_REPLACES',
  );
}

/** The map of a cluster whose streams are there: they are made once, and never again. */
async function withStreams(
  map: ClusterMap,
  nats: Nats,
  { clusterName, clusterLogBytes }: Config,
): Promise<ClusterMap> {
  if (map.shards.every(({ streamCreated }) => streamCreated !== undefined)) return map;
  const shards = map.shards.map(async (shard, number) => {
    const { created, config, state } = await createStream(
      nats,
      clusterName,
      number,
      map.replicas,
      clusterLogBytes,
    );
    if (state.last_seq > 0) throw isUsed(config.name, clusterName);
    return { ...shard, streamCreated: created };
  });
  return { ...map, shards: await Promise.all(shards) };
}

/** Acts until it succeeds: servers and other nodes may not be there yet. */
async function patiently<Answer>(
  act: () => Promise<Answer>,
  cluster: string,
  logger: Logger,
): Promise<Answer> {
  let lineAt = performance.now() + WAITING_LINE_MS;
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (error instanceof StartError) throw error;
      if (performance.now() >= lineAt) {
        logger.info({ cluster, reason: messageOf(error) }, 'waiting for the cluster');
        lineAt = performance.now() + WAITING_LINE_MS;
      }
    }
    await sleep(LOOK_MS);
  }
}

/** Of a stream that is older than the map: replicas without points must not follow it. */
function isUsed(stream: string, cluster: string): StartError {
  return new StartError(
    `the stream ${stream} of the NATS servers has the writes of another cluster, and the cluster ${cluster} ` +
      `is new: give it another name (CLUSTER_NAME), or, if nobody needs the other, remove its stream by ` +
      `\`nats stream rm ${stream}\``,
  );
}
