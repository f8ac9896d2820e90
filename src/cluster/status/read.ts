import { JetStreamApiError, type StreamInfo } from '@nats-io/jetstream';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf, StartError } from '../../core/start-error.js';
import type { Logger } from '../../observe/logger.js';
import { DamagedMap, MapStore, type ClusterMap, type ShardPlace } from '../map/map.js';
import { askNode } from '../map/node-reports.js';
import type { NatsSettings } from '../nats/login.js';
import { Nats } from '../nats/nats.js';
import { serversOfStream } from '../nats/stream-servers.js';
import { subjects } from '../nats/subjects.js';
import type { ClusterStatus, ShardStatus, StreamStatus } from './model.js';
import { RollCall } from './roll-call.js';

/** How long the servers may take to be level: under load one is briefly behind now and then. */
const LEVEL_MS = 2_000;
const LOOK_MS = 200;

/** The state of a cluster, as NATS and its nodes tell it. Throws a StartError if NATS does not. */
export async function readStatus(
  settings: NatsSettings,
  cluster: string,
  logger: Logger,
): Promise<ClusterStatus> {
  await Nats.try(settings);
  const nats = await Nats.connect(settings);
  try {
    const map = await readMap(nats, cluster);
    const shards = map.shards.map(
      async (place, shard) => await readShard(nats, cluster, shard, place, logger),
    );
    const { server_name: server = '', version = '' } = nats.connection.info ?? {};
    return {
      cluster,
      dimension: map.dimension,
      replicas: map.replicas,
      nats: { server, version, versionFault: nats.versionFault },
      shards: await Promise.all(shards),
    };
  } finally {
    await nats.close();
  }
}

async function readShard(
  nats: Nats,
  cluster: string,
  shard: number,
  { nodes, streamCreated }: ShardPlace,
  logger: Logger,
): Promise<ShardStatus> {
  const name = subjects.stream(cluster, shard);
  const lookAtStream = async () => await readStream(nats, name, streamCreated);
  const before = await lookAtStream();
  const rollCall = new RollCall(nats, cluster, shard, nodes.length, logger);
  const asking = nodes.map(async (node) => await askNode(nats, cluster, node));
  const answers = await rollCall.call(before?.lastSequence ?? 0);
  const reports = await Promise.all(asking);
  return {
    shard,
    stream: await levelStream(lookAtStream),
    nodes: nodes.map((node, replica) => {
      return { node, replica, answer: answers.get(replica), report: reports[replica] };
    }),
  };
}

async function readMap(nats: Nats, cluster: string): Promise<ClusterMap> {
  const name = subjects.bucket(cluster);
  const bucket = await nats.openBucket(name);
  const known = await new MapStore(bucket).read().catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    if (error instanceof StartError) throw error;
    if (error instanceof DamagedMap) throw new StartError(error.message);
    throw new StartError(
      `JetStream of the NATS servers does not answer: ${messageOf(error)}. It needs most of them: see ` +
        'which run, and their logs',
    );
  });
  if (known !== undefined) return known.map;
  throw new StartError(
    `the NATS servers know no cluster ${cluster} (CLUSTER_NAME): correct CLUSTER_NAME or CLUSTER_URL; a new ` +
      'cluster is made by the first start of its nodes',
  );
}

/** Undefined if there is no stream, or NATS does not answer. */
async function readStream(
  nats: Nats,
  name: string,
  created: string | undefined,
): Promise<StreamStatus | undefined> {
  try {
    const manager = await nats.manager();
    return streamStatus(await manager.streams.info(name), created);
  } catch {
    return undefined;
  }
}

function streamStatus(info: StreamInfo, created: string | undefined): StreamStatus {
  const { config, state } = info;
  return {
    name: config.name,
    created: info.created,
    isOfMap: info.created === created,
    servers: serversOfStream(info),
    messages: state.messages,
    lostMessages: state.num_deleted ?? 0,
    bytes: state.bytes,
    limitBytes: config.max_bytes,
    firstSequence: state.first_seq,
    lastSequence: state.last_seq,
  };
}

/** The stream once its servers are level, or as it is after a while. */
async function levelStream(
  look: () => Promise<StreamStatus | undefined>,
): Promise<StreamStatus | undefined> {
  const endsAtMs = performance.now() + LEVEL_MS;
  for (;;) {
    const stream = await look();
    const isLevel = stream?.servers.every(({ state }) => state !== 'behind' && state !== 'silent');
    if (isLevel === true || performance.now() > endsAtMs) return stream;
    await sleep(LOOK_MS);
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.status === 404;
}
