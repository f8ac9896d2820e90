import { othersOfEachMajority } from '../voting/quorum.js';
import type { ClusterStatus, NodeStatus, ShardStatus, StreamStatus } from './model.js';

/** From half on it is trimmed of what all nodes have: more is kept for one that is away or behind. */
const MOST_FILLED = 3 / 4;

/** The way out where no node can fetch points. */
const NEW_CLUSTER =
  'Make a new cluster of the points that are left: docs/CLUSTER.md, "Make a new cluster of what is left"';

/** What is wrong with a cluster, and what to do about it: a sentence for each, and none if all is well. */
export function problemsOf({ nats, shards, replicas }: ClusterStatus): string[] {
  const isWaiting = shards.some(({ nodes }) => nodes.length < replicas);
  const problems = [nats.versionFault].filter((fault) => fault !== undefined);
  for (const shard of shards) {
    const suffix = shards.length > 1 ? ` of shard ${shard.shard}` : '';
    problems.push(...shardProblems(shard, replicas, isWaiting, suffix));
  }
  // A NATS server that is away has a replica of several streams.
  return [...new Set(problems)];
}

/** @param suffix what names the shard, where there are several */
function shardProblems(
  { stream, nodes }: ShardStatus,
  replicas: number,
  isWaiting: boolean,
  suffix: string,
): string[] {
  const problems: string[] = [];
  const missing = replicas - nodes.length;
  if (missing > 0) {
    problems.push(
      `${missing} of ${replicas} nodes${suffix} have never started: the cluster waits for them`,
    );
  } else if (stream === undefined && !isWaiting) {
    problems.push(
      `the stream of the writes${suffix} is not there, or most NATS servers are away: see which run, and ` +
        'their logs',
    );
  }
  if (stream !== undefined) problems.push(...streamProblems(stream));
  const answering = nodes.filter(({ answer }) => answer !== undefined).length;
  const needed = othersOfEachMajority(replicas);
  const canReplace = answering >= needed;
  problems.push(...nodes.flatMap((node) => nodeProblems(node, stream, suffix, canReplace)));
  const lost = nodes.filter(({ report }) => report?.needsPoints).length;
  if (lost > replicas - needed) {
    problems.push(
      `${lost} of ${replicas} nodes${suffix} have lost their points, and each needs those of ${needed} others ` +
        `that have theirs: none gets any, however long it waits. ${NEW_CLUSTER}`,
    );
  } else if (!isWaiting && answering <= replicas / 2) {
    problems.push(
      `only ${answering} of ${replicas} nodes${suffix} answer: before most do, no write to them is ` +
        'acknowledged and no strong read answered. Start the others on the data folders that they had' +
        (canReplace || replicas === 1
          ? ''
          : `. If these are lost for good, new nodes cannot take their places, as each needs ${needed} others ` +
            `that answer. ${NEW_CLUSTER}`),
    );
  }
  return problems;
}

function streamProblems(stream: StreamStatus): string[] {
  const { name, servers, isOfMap, lostMessages, bytes, limitBytes } = stream;
  const problems: string[] = [];
  if (!isOfMap) {
    problems.push(
      `the stream ${name} is not the one that the cluster was made with, and no node follows it: bring ` +
        'back the folders that the NATS servers had',
    );
  }
  for (const { name: server, state, lag } of servers) {
    if (state === 'away') {
      problems.push(`the NATS server ${server} is away: start it on the folder that it had`);
    } else if (state === 'leader' && lostMessages > 0) {
      problems.push(
        `the NATS server ${server} has lost ${lostMessages} messages of the stream ${name}, as by a damaged ` +
          'file: stop it, empty its store_dir and start it, while the two others run',
      );
    } else if (state === 'behind') {
      problems.push(
        `the NATS server ${server} is behind by ${lag} operations of the stream ${name}: it catches up if ` +
          'that number falls within minutes; else its log says why, and it has to be replaced ' +
          '(docs/CLUSTER.md)',
      );
    } else if (state === 'silent') {
      problems.push(
        `the NATS server ${server} is silent, and does not come back by itself: start it on the folder that it ` +
          'had; if it runs, its log says that JetStream is off, as where its disk was full, or it stands ' +
          'still: free some space there, and restart it',
      );
    }
  }
  if (limitBytes > 0 && bytes > limitBytes * MOST_FILLED) {
    const filled = Math.round((100 * bytes) / limitBytes);
    problems.push(
      `the stream ${name} is filled to ${filled} % of CLUSTER_LOG_BYTES, and at 100 % no write is ` +
        'taken: it is trimmed once most nodes have applied it, so start those that do not answer, and see ' +
        'the logs of those that lack messages',
    );
  }
  return problems;
}

function nodeProblems(
  { node: id, answer, report }: NodeStatus,
  stream: StreamStatus | undefined,
  suffix: string,
  canReplace: boolean,
): string[] {
  const host = report === undefined ? '' : ` on ${report.host}`;
  const node = `${id}${suffix}${host}`;
  if (report?.state === 'starting') return [`node ${node} starts: ${report.reason}`];
  if (answer === undefined) {
    const replaced =
      ', or, if that is lost, on a new one with CLUSTER_REPLACES set to this id, once it runs nowhere';
    return [
      `node ${node} does not answer: if it runs, its log says why; else start it on the data folder that ` +
        `it had${canReplace ? replaced : ''}`,
    ];
  }
  const { sequence, lacks, history, isFull, isClockOff } = answer;
  const problems: string[] = [];
  const because = report?.reason ? `, because ${report.reason}` : '';
  if (report?.state === 'stopped') {
    problems.push(
      `node ${node} has stopped${because}: it takes no message until it is started again`,
    );
  } else if (lacks > 0) {
    problems.push(
      `node ${node} lacks ${lacks} of the messages of the stream` +
        (because === ''
          ? ': it catches up, or its log says why not'
          : ` and does not follow${because}`),
    );
  }
  const surplus = stream === undefined ? 0 : sequence - stream.lastSequence;
  if (surplus > 0) {
    problems.push(
      `node ${node} is ${surplus} messages ahead of the stream, which has lost its end: ` +
        'docs/CLUSTER.md says what to do',
    );
  }
  if (history === 'other') {
    problems.push(
      `node ${node} has another history than most of the others: it fetches their points by itself, ` +
        'and its log says how far that is',
    );
  }
  if (isFull) problems.push(`the disk of node ${node} is full: free some space on it`);
  if (isClockOff) {
    problems.push(
      `the clock of node ${node} differs by more than 30 s from that of the NATS servers, and writes ` +
        'through it are refused: keep all clocks by NTP',
    );
  }
  return problems;
}
