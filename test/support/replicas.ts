import { jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection, type Subscription } from '@nats-io/transport-node';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { readMessage } from '../../src/cluster/nats/message.js';
import { createStream } from '../../src/cluster/nats/stream.js';
import { Gateway } from '../../src/cluster/voting/gateway.js';
import { Nats } from '../../src/cluster/nats/nats.js';
import { encodeOutcome } from '../../src/cluster/voting/outcome.js';
import type { LostLogs } from '../../src/cluster/replica/reporter.js';
import { subjects } from '../../src/cluster/nats/subjects.js';
import { readConfig, type Config } from '../../src/config/config.js';
import { MOST_REPLICAS } from '../../src/config/settings.js';
import { Engine, type Outcome } from '../../src/engine/native.js';
import { Question, Report, type StreamMessage } from '../../src/gen/vectord/cluster/v1/cluster.js';
import { createLogger } from '../../src/observe/logger.js';
import { makeTemporaryFolder } from './folders.js';
import { Servers } from './nats-servers.mjs';
import { findNatsServer } from './tools.mjs';

export const SHARD = 0;
const LOG_BYTES = 64 * 1024 * 1024;
export const SILENT = createLogger('silent');

/** What a message has done that has stored one point. */
export const STORED: Outcome = {
  sequence: 1,
  chain: 1,
  stored: 1,
  replaced: 0,
  kept: 0,
  deleted: 0,
  found: new Uint8Array(),
};

/** A NATS server for all tests of the file that calls it. */
export function ownNatsServer(): () => Servers {
  let servers: Servers;
  beforeAll(async () => {
    servers = await Servers.start(findNatsServer() ?? '', makeTemporaryFolder(), { count: 1 });
  });
  afterAll(async () => await servers.end());
  return () => servers;
}

/** A cluster of its own on a NATS server: the stream of its shard, and a connection of a node. */
export async function openShard(servers: Servers) {
  const cluster = `c-${randomUUID().slice(0, 8)}`;
  const config = configOf(servers, cluster);
  const nats = await Nats.connect(config);
  const { created } = await createStream(nats, cluster, SHARD, 1, LOG_BYTES);
  const stream = subjects.stream(cluster, SHARD);
  onTestFinished(async () => await nats.close());
  const gateway = new Gateway(nats, cluster, SHARD, MOST_REPLICAS, SILENT);
  const peer = await connect({ servers: [...servers.addresses], reconnectTimeWait: 100 });
  onTestFinished(async () => {
    // Servers reserve the space of each.
    const manager = await jetstreamManager(peer);
    await manager.streams.delete(stream).catch(() => undefined);
    await peer.close();
  });
  const replicas = new Replicas(peer, cluster);
  await Promise.all([peer.flush(), nats.connection.flush()]);
  return { cluster, nats, created, gateway, replicas, stream };
}

function configOf(servers: Servers, cluster: string): Config {
  const urls = servers.addresses.map((address) => `nats://${address}`).join(',');
  return readConfig({ CLUSTER_URL: urls, CLUSTER_NAME: cluster, SERVICE_KEYS_FILE: 'keys.json' });
}

/** A node that knows of no lost log. */
export const NONE_LOST: LostLogs = { incarnations: [], raise: () => undefined };

/** An engine on a folder of its own. */
export async function openEngine(
  path = makeTemporaryFolder(),
  settings: Record<string, string> = {},
): Promise<Engine> {
  const engine = await Engine.open({ ...readConfig(settings), dimension: 4, path });
  onTestFinished(async () => await engine.close());
  return engine;
}

/** The change that stores new points with ids that begin with a byte. */
export function changeOf(engine: Engine, count = 1, content = ''): Uint8Array {
  const contents = Buffer.from(content.repeat(count));
  const ids = Buffer.concat(Array.from({ length: count }, newId));
  const vectors = Float32Array.from({ length: 4 * count }, (_, at) => at % 7);
  const contentEnds = Uint32Array.from({ length: count }, (_, at) => (at + 1) * content.length);
  const batch = { ids, vectors, contentTypes: new Uint8Array(count), contents, contentEnds };
  return engine.messages.insert(batch, String);
}

function newId(): Buffer {
  return Buffer.from(randomUUID().replaceAll('-', ''), 'hex');
}

/** Replicas of a shard that say what a test has them say. They speak to the gateways over NATS. */
export class Replicas {
  /** All that was sent into the stream, and asked, since the start. */
  readonly messages: StreamMessage[] = [];
  readonly questions: Question[] = [];
  onMessage: (message: StreamMessage) => void = () => undefined;
  onQuestion: (question: Question) => void = () => undefined;
  readonly #log: Subscription;

  constructor(
    private readonly connection: NatsConnection,
    private readonly cluster: string,
  ) {
    this.#log = connection.subscribe(subjects.log(cluster, SHARD), {
      callback: (_, { data }) => {
        // The client would leave the server for what is thrown here.
        const reading = readMessage(data);
        if (reading.kind !== 'message') return;
        this.messages.push(reading.message);
        this.onMessage(reading.message);
      },
    });
    for (const asked of [subjects.questions(cluster, SHARD), `${cluster}.${SHARD}.questions.*`]) {
      connection.subscribe(asked, {
        callback: (_, { data }) => {
          const question = Question.decode(data);
          this.questions.push(question);
          this.onQuestion(question);
        },
      });
    }
  }

  /** Counts how often the stream is asked for a message from now on, and how many wait at most. */
  async watchReads(stream: string): Promise<{ readonly all: number; readonly most: number }> {
    const asked = { all: 0, most: 0 };
    const waiting = new Set<string>();
    // An answer may be heard before its question.
    const early = new Set<string>();
    this.connection.subscribe(`$JS.API.STREAM.MSG.GET.${stream}`, {
      callback: (_, { reply = '' }) => {
        asked.all += 1;
        if (!early.delete(reply)) waiting.add(reply);
        asked.most = Math.max(asked.most, waiting.size);
      },
    });
    this.connection.subscribe('_INBOX.>', {
      callback: (_, { subject }) => {
        if (!waiting.delete(subject)) early.add(subject);
      },
    });
    await this.connection.flush();
    return asked;
  }

  /** Listens no more to what is sent into the stream. */
  async leave(): Promise<void> {
    this.#log.unsubscribe();
    await this.connection.flush();
  }

  /** A replica tells a gateway something. */
  tell(gateway: string, replica: number, report: Partial<Report>): void {
    const nothing = {
      isFull: false,
      isClockOff: false,
      strays: 0,
      confirmations: [],
      answer: undefined,
      incarnations: [],
    };
    this.send(gateway, Report.encode({ ...nothing, ...report, replica }).finish());
  }

  /** A gateway is sent any bytes. */
  send(gateway: string, bytes: Uint8Array): void {
    this.connection.publish(subjects.gateway(this.cluster, gateway), bytes);
  }

  /** A replica confirms a message. */
  confirm(
    { gateway, request }: Pick<StreamMessage, 'gateway' | 'request'>,
    replica: number,
    outcome: Partial<Outcome> = {},
    { isVoid = false, isFull = false, incarnations = [] as number[] } = {},
  ): void {
    const bytes = encodeOutcome({ ...STORED, ...outcome }, isVoid);
    const confirmations = [{ request, outcome: bytes }];
    this.tell(gateway, replica, { isFull, confirmations, incarnations });
  }

  /** Replicas confirm whatever a gateway lacks confirmations of. */
  confirmWhatIsAsked(...replicas: readonly number[]): void {
    this.onQuestion = ({ gateway, unconfirmed }) => {
      for (const request of unconfirmed) {
        for (const replica of replicas) this.confirm({ gateway, request }, replica);
      }
    };
  }
}
