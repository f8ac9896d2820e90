import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type CallOptions, type Client } from '../../../src/client/node.js';
import { makeTemporaryFolder } from '../../support/folders.js';
import { Random } from '../../support/random.js';
import type { TestServer } from '../../support/server.js';
import { call } from './call.js';
import { Groups, type Group, type Key } from './groups.js';
import type { Kind, Outcome } from './operation.js';
import { Recorder, type Counts } from './recorder.js';

/** A node of a cluster, or a service that is alone. */
export type Node = Pick<TestServer, 'http' | 'grpc' | 'keys'>;

export interface WorkloadOptions {
  /** The same one asks for the same operations, at other times. */
  readonly seed?: number;
  /** 4 unless told otherwise. */
  readonly dimension?: number;
  /** For how long an operation is waited for; 10 s unless told otherwise. */
  readonly deadlineMs?: number;
}

export interface History {
  /** A file with an operation on each line. */
  readonly path: string;
  readonly counts: Counts;
  /** How many reads at the end failed: of every group through every client. */
  readonly unread: number;
}

/** At least so many, half of them over each protocol, and one for each protocol of each node. */
const LEAST_CLIENTS = 6;

/** As often as they are listed. */
const MIX: readonly Kind[] = [
  ...(['upsert', 'upsert', 'upsert', 'insert', 'delete', 'delete'] as const),
  ...(['get', 'get', 'get', 'search', 'search', 'search'] as const),
];

/** The reads at the end may be repeated: what they find does not depend on it. */
const PATIENT: CallOptions = { retries: { attempts: 8 } };

interface Caller {
  readonly client: Client;
  readonly address: string;
  process: number;
  /** How many of its writes were acknowledged. */
  written: number;
}

/**
 * Clients that read and write a few points of random groups through all nodes, and record what they
 * learn. The history is linearizable if one node, or one machine, could have answered so.
 */
export class Workload {
  readonly #recorder = new Recorder(join(makeTemporaryFolder(), 'history.jsonl'));
  readonly #groups: Groups;
  readonly #callers: readonly Caller[];
  readonly #running: readonly Promise<void>[];
  #processes = 0;
  #versions = 0;
  #isStopping = false;

  private constructor(
    nodes: readonly Node[],
    { seed = Date.now(), dimension = 4, deadlineMs = 10_000 }: WorkloadOptions,
  ) {
    this.#groups = new Groups(dimension);
    const addresses = nodes.flatMap(({ http, grpc, keys }) =>
      [http, `grpc://${grpc}`].map((address) => ({ address, key: keys.readwrite })),
    );
    const rounds = Math.ceil(LEAST_CLIENTS / addresses.length);
    const options = { deadlineMs, retries: { attempts: 1 } };
    this.#callers = Array.from({ length: rounds }, () => addresses)
      .flat()
      .map(({ address, key }) => ({
        client: connect(address, { key, ...options }),
        address,
        process: this.#nextProcess(),
        written: 0,
      }));
    this.#running = this.#callers.map((caller, at) => this.#run(caller, new Random(seed + at)));
  }

  static start(nodes: readonly Node[], options: WorkloadOptions = {}): Workload {
    return new Workload(nodes, options);
  }

  /** Of the operations so far that have ended. */
  get counts(): Counts {
    return this.#recorder.counts;
  }

  /** How many writes of each client were acknowledged so far. */
  get written(): readonly number[] {
    return this.#callers.map(({ written }) => written);
  }

  /** Asks for nothing more, and waits for what is under way. */
  async rest(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#running);
  }

  /** Waits for what is under way, and reads every point once more through every client. */
  async stop(): Promise<History> {
    await this.rest();
    let unread = 0;
    // One after the other: reads at the same time are the most work for a checker.
    for (const caller of this.#callers) unread += await this.#readAll(caller);
    for (const { client } of this.#callers) client.close();
    this.#recorder.close();
    const { path, counts } = this.#recorder;
    return { path, counts, unread };
  }

  async #run(caller: Caller, random: Random): Promise<void> {
    while (!this.#isStopping) {
      const group = this.#groups.pick(random);
      const keys = someOf(group.keys, random);
      const outcome = await this.#perform(caller, random.pick(MIX), group, keys);
      // A client that is refused does not ask again at once.
      await sleep(random.below(outcome === 'ok' ? 5 : 100));
    }
  }

  /** Answers how many reads failed. */
  async #readAll(caller: Caller): Promise<number> {
    let failed = 0;
    for (const group of this.#groups.all) {
      const outcome = await this.#perform(caller, 'get', group, group.keys, PATIENT);
      if (outcome !== 'ok') failed += 1;
    }
    return failed;
  }

  async #perform(
    caller: Caller,
    kind: Kind,
    group: Group,
    keys: readonly Key[],
    options?: CallOptions,
  ): Promise<Outcome> {
    const { client, address: node, process } = caller;
    const version = kind === 'upsert' || kind === 'insert' ? (this.#versions += 1) : undefined;
    const ids = keys.map(({ id }) => id);
    const asked = { process, node, kind, group: group.number, keys: ids };
    const outcome = await this.#recorder.record(
      { ...asked, ...(version !== undefined && { version }) },
      () => call(client, kind, keys, version ?? 0, options),
    );
    if (outcome === 'ok' && version !== undefined) caller.written += 1;
    if (outcome === 'unknown') {
      // What it has asked for may still be under way: whoever asks next is somebody else.
      caller.process = this.#nextProcess();
      group.unknown += 1;
    }
    return outcome;
  }

  #nextProcess(): number {
    this.#processes += 1;
    return this.#processes;
  }
}

/** One of them as often as several, in their order. */
function someOf(keys: readonly Key[], random: Random): readonly Key[] {
  const some = random.next() < 0.5 ? [] : keys.filter(() => random.next() < 0.6);
  return some.length > 0 ? some : [random.pick(keys)];
}
