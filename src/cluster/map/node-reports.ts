import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { VERSION } from '../../config/version.js';
import { NodeReport } from '../../gen/vectord/cluster/v1/cluster.js';
import type { Nats } from '../nats/nats.js';
import { subjects } from '../nats/subjects.js';

/** A node that answers does so in this time, also where its connection is just being made again. */
const LONGEST_MS = 3_000;
const AGAIN_MS = 250;

/** What a node tells, besides what it is for as long as it runs. */
export type NodeNews = Partial<Omit<NodeReport, 'version' | 'host'>> & Pick<NodeReport, 'state'>;

/** Answers for a node from now on, whoever asks how it is. */
export function answerAs(nats: Nats, cluster: string, node: string, tell: () => NodeNews): void {
  nats.subscribe(subjects.node(cluster, node), (_, answer) => {
    const nothing = { httpPort: 0, grpcPort: 0, points: 0, reason: '', needsPoints: false };
    const report = { ...nothing, ...tell(), version: VERSION, host: hostname() };
    answer(NodeReport.encode(report).finish());
  });
}

/** What a node tells of itself; undefined where it does not answer. */
export async function askNode(
  nats: Nats,
  cluster: string,
  node: string,
): Promise<NodeReport | undefined> {
  const endsAtMs = performance.now() + LONGEST_MS;
  while (performance.now() < endsAtMs) {
    try {
      return NodeReport.decode(await nats.ask(subjects.node(cluster, node), new Uint8Array()));
    } catch {
      await sleep(AGAIN_MS);
    }
  }
  return undefined;
}
