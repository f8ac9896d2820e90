import { jetstream, jetstreamManager, type JetStreamClient } from '@nats-io/jetstream';
import { Kvm, type KV } from '@nats-io/kv';
import {
  AuthorizationError,
  connect,
  type ConnectionOptions,
  type Msg,
  type NatsConnection,
} from '@nats-io/transport-node';
import { setImmediate as endOfTurn, setTimeout as sleep } from 'node:timers/promises';
import { deferred } from '../../core/deferred.js';
import { messageOf, StartError } from '../../core/start-error.js';
import { loginOf, serversOf, type NatsSettings } from './login.js';

/** The oldest server that was tried with faults, see docs/decisions/0036-nats-jetstream.md. */
const LEAST_VERSION = '2.15.3';

/** What servers take unless they are told otherwise. */
const DEFAULT_MAX_PAYLOAD = 1024 * 1024;

/** A message has an envelope, and a change is to come in few of them. */
const LEAST_MAX_PAYLOAD = 64 * 1024;

const CONNECT_MS = 2_000;
const RETRY_MS = 250;
/** A start that waits for a server says so this often. */
const WAITING_LINE_MS = 10_000;

/** An operation on streams or on the map takes no longer, or fails; so does a question to a node. */
const REQUEST_MS = 2_000;
/** A question waits so long for a connection. */
const RECONNECT_MS = 2_000;
const PAUSE_MS = 20;
/** How long a close waits at most for the server to take what was sent. */
const FLUSH_MS = 1_000;

/** A connection to the NATS servers of a cluster. Where it breaks it is made again, for ever. */
export class Nats {
  #connection: NatsConnection;
  #streams: JetStreamClient;
  #isConnected = true;
  #isReplacing = false;
  #isClosed = false;
  #maxPayload = DEFAULT_MAX_PAYLOAD;
  #turn: Promise<void> | undefined;
  readonly #subscriptions = new Set<Subscribed>();
  /** End the questions without an answer, which a connection that breaks may have lost. */
  readonly #asking = new Set<(error: Error) => void>();

  private constructor(
    connection: NatsConnection,
    private readonly options: ConnectionOptions,
  ) {
    this.#connection = connection;
    this.#streams = streamsOf(connection);
    this.#onConnect();
    void this.#watch(connection);
  }

  /**
   * Looks whether a server of CLUSTER_URL takes a connection; with `onWait` until one does, which is told
   * why none does, at once and every ten seconds. Throws a StartError where it gives up, as where servers
   * refuse the credentials twice: one that is busy may not get them in time.
   */
  static async try(config: NatsSettings, onWait?: (reason: string) => void): Promise<void> {
    const options = { ...optionsOf(config), waitOnFirstConnect: false };
    let tellAtMs = -Infinity;
    for (let refusals = 0; ; await sleep(RETRY_MS)) {
      try {
        const connection = await connect(options);
        return await connection.close();
      } catch (error) {
        refusals = error instanceof AuthorizationError ? refusals + 1 : 0;
        const reason = `no NATS server of CLUSTER_URL takes a connection: ${messageOf(error)}`;
        if (onWait === undefined || refusals > 1) {
          throw new StartError(reason, undefined, { cause: error });
        }
        if (performance.now() < tellAtMs) continue;
        onWait(reason);
        tellAtMs = performance.now() + WAITING_LINE_MS;
      }
    }
  }

  /**
   * Connects to a server of CLUSTER_URL; waits until one is there. From then on the client is not to
   * give up, as it does where two servers in a row refuse the credentials, or do not get them in time.
   */
  static async connect(config: NatsSettings): Promise<Nats> {
    const options = { ...optionsOf(config), ignoreAuthErrorAbort: true };
    return new Nats(await connect(options), options);
  }

  /** Whether there is a connection. Without one the client keeps messages until there is. */
  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** The greatest size of a message, as the last server has said. */
  get maxPayload(): number {
    return this.#maxPayload;
  }

  /** What is wrong with the version of the server, if something is. */
  get versionFault(): string | undefined {
    const { version = '', server_name: name } = this.#connection.info ?? {};
    const [found, least] = [numbersOf(version), numbersOf(LEAST_VERSION)];
    const at = found.findIndex((number, index) => number !== least[index]);
    if (at < 0 || (found[at] ?? 0) > (least[at] ?? 0)) return undefined;
    return `the NATS server ${name} has version ${version}, expected ${LEAST_VERSION} or newer`;
  }

  /** Throws a StartError where the server takes no messages that are large enough. */
  checkMaxPayload(): void {
    if (this.#maxPayload >= LEAST_MAX_PAYLOAD) return;
    throw new StartError(
      `max_payload of the NATS server ${this.#connection.info?.server_name} is ${this.#maxPayload}, ` +
        `expected at least ${LEAST_MAX_PAYLOAD}: raise it in the configuration of all NATS servers`,
    );
  }

  /** Who waits for it sends what it has at the end of this turn of the loop, in one write with the others. */
  async turnEnd(): Promise<void> {
    this.#turn ??= endOfTurn().finally(() => (this.#turn = undefined));
    await this.#turn;
  }

  /**
   * Sends a message that may be lost: the receiver asks again. So is one that the client refuses: it is
   * larger than the server takes, or the connection is closed.
   */
  send(subject: string, bytes: Uint8Array): void {
    orLose(() => this.#connection.publish(subject, bytes));
  }

  /**
   * Asks who answers at a subject. Rejects where nobody does, or not in time, and where the connection
   * breaks meanwhile. The client drops what is sent while it connects.
   */
  async ask(subject: string, bytes: Uint8Array, timeout = REQUEST_MS): Promise<Uint8Array> {
    const waitsUntilMs = performance.now() + RECONNECT_MS;
    while (!this.#isConnected) {
      if (performance.now() >= waitsUntilMs) throw new Error('no NATS server is connected');
      await sleep(PAUSE_MS);
    }
    await this.turnEnd();
    const { promise: broken, reject } = deferred<never>();
    this.#asking.add(reject);
    try {
      const answer = this.#connection.request(subject, bytes, { timeout });
      return (await Promise.race([answer, broken])).data;
    } finally {
      this.#asking.delete(reject);
    }
  }

  /**
   * Hears what is sent to a subject from now on, over whichever connection. Of those who name the same
   * `queue` one hears each message. Returns a function that ends this; it resolves once no more
   * messages come.
   */
  subscribe(subject: string, hear: Hear, queue?: string): () => Promise<void> {
    const subscribed: Subscribed = { subject, hear, queue };
    this.#subscriptions.add(subscribed);
    this.#listen(this.#connection, subscribed);
    return async () => {
      this.#subscriptions.delete(subscribed);
      await subscribed.end?.();
    };
  }

  /** The connection of the moment. */
  get connection(): NatsConnection {
    return this.#connection;
  }

  get streams(): JetStreamClient {
    return this.#streams;
  }

  /** A bucket that is there, which the first look at it finds out. */
  async openBucket(name: string): Promise<KV> {
    return await new Kvm(this.#connection).open(name, { timeout: REQUEST_MS });
  }

  async bucket(name: string, replicas: number): Promise<KV> {
    const kv = new Kvm(this.#connection);
    return await kv.create(name, { replicas, history: 1, timeout: REQUEST_MS });
  }

  async manager(): ReturnType<typeof jetstreamManager> {
    // What follows fails by itself where there are no streams: the account is not asked each time.
    return await jetstreamManager(this.#connection, { timeout: REQUEST_MS, checkAPI: false });
  }

  /** What was sent before goes out, if a server takes it in time. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#isConnected) {
      const flushed = this.#connection.flush().catch(() => undefined);
      await Promise.race([flushed, sleep(FLUSH_MS, undefined, { ref: false })]);
    }
    await this.#connection.close();
  }

  #listen(connection: NatsConnection, subscribed: Subscribed): void {
    const { subject, hear, queue } = subscribed;
    const answer = async (message: Msg, bytes: Uint8Array): Promise<void> => {
      await this.turnEnd();
      orLose(() => message.respond(bytes));
    };
    const subscription = connection.subscribe(subject, {
      ...(queue === undefined ? {} : { queue }),
      callback: (error, message) => {
        if (error === null) hear(message.data, (bytes) => void answer(message, bytes));
      },
    });
    subscribed.end = async () => await subscription.drain();
  }

  #onConnect(): void {
    this.#isConnected = true;
    this.#maxPayload = this.#connection.info?.max_payload ?? this.#maxPayload;
  }

  #onDisconnect(): void {
    this.#isConnected = false;
    for (const end of this.#asking) end(new Error('the connection to the NATS server has broken'));
  }

  async #watch(connection: NatsConnection): Promise<void> {
    for await (const { type } of connection.status()) {
      if (connection !== this.#connection) return;
      if (type === 'disconnect') this.#onDisconnect();
      else if (type === 'reconnect') this.#onConnect();
      else if (type === 'staleConnection') void this.#replace();
    }
  }

  /**
   * Leaves a server that is silent for another connection. The client would first wait until all is
   * sent, which never comes where the buffers of the system are full.
   */
  async #replace(): Promise<void> {
    if (this.#isReplacing) return;
    this.#isReplacing = true;
    this.#onDisconnect();
    try {
      const silent = this.#connection;
      const next = await connect({ ...this.options, reconnectToServer: () => this.#anyServer() });
      // The client has found a way itself, or nobody needs one any more.
      if (this.#isConnected || this.#isClosed) return await next.close();
      this.#connection = next;
      this.#streams = streamsOf(next);
      for (const subscribed of this.#subscriptions) this.#listen(next, subscribed);
      this.#onConnect();
      void this.#watch(next);
      await silent.close();
    } catch {
      // The client goes on with the connection that it has.
    } finally {
      this.#isReplacing = false;
    }
  }

  /** Lets the client choose where it connects to; ends its tries once nobody needs them any more. */
  #anyServer(): null {
    if (this.#isClosed) throw new Error('the connection is closed');
    return null;
  }
}

function optionsOf(settings: NatsSettings): ConnectionOptions {
  const { clusterUrls = [] } = settings;
  return {
    servers: serversOf(clusterUrls),
    name: 'vectord',
    maxReconnectAttempts: -1,
    reconnectTimeWait: RETRY_MS,
    // A server that is suspended still accepts connections, but never answers.
    timeout: CONNECT_MS,
    pingInterval: 1_000,
    maxPingOut: 2,
    // Each request would make several stack traces, for errors that hardly ever come.
    noAsyncTraces: true,
    waitOnFirstConnect: true,
    ...(clusterUrls.some((url) => url.startsWith('tls:')) ? { tls: {} } : {}),
    ...loginOf(settings),
  };
}

function streamsOf(connection: NatsConnection): JetStreamClient {
  return jetstream(connection, { timeout: REQUEST_MS });
}

/** Hears a message; `answer` does nothing where nobody waits for an answer. */
type Hear = (bytes: Uint8Array, answer: (bytes: Uint8Array) => void) => void;

interface Subscribed {
  readonly subject: string;
  readonly hear: Hear;
  readonly queue: string | undefined;
  /** Ends it over the connection of the moment. */
  end?: () => Promise<void>;
}

/** What another node is sent may be lost, and ends nothing here. */
function orLose(send: () => unknown): void {
  try {
    send();
  } catch {
    // Whoever waits for it asks again, or gives up.
  }
}

function numbersOf(version: string): number[] {
  return version.split(/[.-]/).slice(0, 3).map(Number);
}
