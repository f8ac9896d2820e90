import { setTimeout as sleep } from 'node:timers/promises';
import type { Servers } from '../../support/nats-servers.mjs';

const STREAM = 'vectord-0';
const LOOK_MS = 100;
const PATIENCE_MS = 30_000;

interface Monitored {
  readonly account_details?: {
    stream_detail?: { name: string; cluster?: { leader?: string } }[];
  }[];
}

/** Which of the servers leads the stream of the shard. */
export async function leaderOf({ monitors, names }: Servers): Promise<number> {
  const giveUpAtMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const response = await fetch(`${monitors[0]}/jsz?streams=1`);
    const { account_details: accounts = [] } = (await response.json()) as Monitored;
    const streams = accounts.flatMap(({ stream_detail: detail = [] }) => detail);
    const leader = streams.find(({ name }) => name === STREAM)?.cluster?.leader ?? '';
    if (names.includes(leader)) return names.indexOf(leader);
    if (performance.now() > giveUpAtMs) throw new Error(`nobody leads ${STREAM}`);
    await sleep(LOOK_MS);
  }
}
