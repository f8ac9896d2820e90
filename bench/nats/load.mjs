// What the nodes of a cluster would do to a stream: writers that publish each message once, under an
// id of its own, and a reader that follows the stream without a gap.
import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { BackOff } from '../../dist/cluster/back-off.js';

const ACK_TIMEOUT_MS = 5_000;
/** Far less than the stream remembers ids for: a message that is sent again is never stored twice. */
const GIVE_UP_MS = 20_000;
const ID_BYTES = 16;
/** Aborts no wait: a write ends by itself. */
const NEVER = new AbortController().signal;

export function connectTo(addresses, name) {
  return connect({
    servers: addresses,
    name,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    pingInterval: 2_000,
    maxPingOut: 2,
    waitOnFirstConnect: true,
  });
}

/** Writers of one connection. What was acknowledged is in `acknowledged`: sequence to id. */
export class Writers {
  acknowledged = new Map();
  unknown = 0;
  repeated = 0;
  #lastAck = performance.now();
  #longestGap = 0;
  #ended = false;
  #loops;

  constructor(connection, subject, { writers, bytes }) {
    const client = jetstream(connection);
    const backOff = new BackOff();
    this.#loops = Array.from({ length: writers }, async () => {
      while (!this.#ended) await this.#write(client, backOff, subject, bytes);
    });
  }

  async #write(client, backOff, subject, bytes) {
    const id = randomBytes(ID_BYTES);
    const payload = Buffer.concat([id, randomBytes(bytes - ID_BYTES)]);
    const msgID = id.toString('hex');
    const begun = performance.now();
    for (;;) {
      await backOff.turn(NEVER);
      try {
        const options = { msgID, timeout: ACK_TIMEOUT_MS, retries: 1 };
        const { seq, duplicate } = await client.publish(subject, payload, options);
        if (duplicate) this.repeated += 1;
        backOff.heard();
        this.#heard();
        this.acknowledged.set(seq, msgID);
        return;
      } catch {
        if (this.#ended || performance.now() - begun > GIVE_UP_MS) {
          this.unknown += 1;
          return;
        }
        await sleep(50);
      }
    }
  }

  #heard() {
    const now = performance.now();
    this.#longestGap = Math.max(this.#longestGap, now - this.#lastAck);
    this.#lastAck = now;
  }

  /** When something was last acknowledged, as performance.now() tells the time. */
  get lastAck() {
    return this.#lastAck;
  }

  /** The longest time without an acknowledgement since the last call, in milliseconds. */
  takeLongestGap() {
    const gap = Math.max(this.#longestGap, performance.now() - this.#lastAck);
    this.#longestGap = 0;
    return gap;
  }

  async end() {
    this.#ended = true;
    await Promise.all(this.#loops);
  }
}

/** Reads a stream in its order; anew from where it is whenever the connection or the order is lost. */
export class Reader {
  /** Ids of what was read, by sequence. */
  ids = new Map();
  position;
  /** Sequences that the stream has jumped over: nobody purges what is not read. */
  gaps = [];
  restarts = 0;
  #ended = false;
  #messages;
  #loop;

  constructor(connection, stream, position) {
    this.position = position;
    this.#loop = this.#follow(jetstream(connection), stream);
  }

  async #follow(client, stream) {
    while (!this.#ended) {
      try {
        const options = { opt_start_seq: this.position + 1, deliver_policy: 'by_start_sequence' };
        const consumer = await client.consumers.get(stream, options);
        this.#messages = await consumer.consume({ idle_heartbeat: 1_000 });
        for await (const message of this.#messages) {
          if (this.#ended) return;
          if (message.seq <= this.position) continue;
          if (message.seq !== this.position + 1) this.gaps.push([this.position, message.seq]);
          this.position = message.seq;
          this.ids.set(
            message.seq,
            Buffer.from(message.data.subarray(0, ID_BYTES)).toString('hex'),
          );
        }
      } catch {
        // Asked again below, from where it stands.
      }
      this.restarts += 1;
      await sleep(250);
    }
  }

  /** Whether it comes up to a position within a time. */
  async reaches(position, milliseconds) {
    const end = performance.now() + milliseconds;
    while (this.position < position && performance.now() < end) await sleep(50);
    return this.position >= position;
  }

  async end() {
    this.#ended = true;
    this.#messages?.stop();
    await Promise.race([this.#loop, sleep(2_000)]);
  }
}
