import { setTimeout as sleep } from 'node:timers/promises';
import type { Servers } from '../../support/nats-servers.mjs';

const STREAM = 'vectord-0';
const LOOK_MS = 100;
const PATIENCE_MS = 30_000;

interface Stream {
  readonly name: string;
  readonly cluster?: { readonly leader?: string };
  readonly state: {
    readonly first_seq: number;
    readonly last_seq: number;
    readonly num_deleted?: number;
  };
}

interface Monitored {
  readonly account_details?: readonly { readonly stream_detail?: readonly Stream[] }[];
}

/** Which of the servers leads a stream: that of the shard, unless told otherwise. */
export async function leaderOf(servers: Servers, stream = STREAM): Promise<number> {
  const { names } = servers;
  const giveUpAtMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const streams = await streamsOf(servers, 0);
    const leader = streams.find(({ name }) => name === stream)?.cluster?.leader ?? '';
    if (names.includes(leader)) return names.indexOf(leader);
    if (performance.now() > giveUpAtMs) throw new Error(`nobody leads ${stream}`);
    await sleep(LOOK_MS);
  }
}

/** The last message of a stream that each server has: that of the shard, unless told otherwise. */
export async function lastMessages(servers: Servers, stream = STREAM): Promise<number[]> {
  const all = await Promise.all(servers.names.map(async (_, at) => await streamsOf(servers, at)));
  return all.map((streams) => streams.find(({ name }) => name === stream)?.state.last_seq ?? 0);
}

/** How many messages a server lacks at the beginning or in the middle of streams that nobody trims. */
export async function lostMessages(servers: Servers, index: number): Promise<number> {
  const all = await Promise.all(servers.names.map(async (_, at) => await streamsOf(servers, at)));
  const lost = (all[index] ?? []).map(({ name, state }) => {
    const others = all.flat().filter((other) => other.name === name);
    const first = Math.min(...others.map((other) => other.state.first_seq));
    return state.first_seq - first + (state.num_deleted ?? 0);
  });
  return lost.reduce((sum, count) => sum + count, 0);
}

async function streamsOf({ monitors }: Servers, index: number): Promise<readonly Stream[]> {
  const response = await fetch(`${monitors[index]}/jsz?streams=1`);
  const { account_details: accounts = [] } = (await response.json()) as Monitored;
  return accounts.flatMap(({ stream_detail: detail = [] }) => detail);
}
