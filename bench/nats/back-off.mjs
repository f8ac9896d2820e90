// When a stream may be written to: at any time while it acknowledges, and once a second, by one
// message, where it has not for three seconds. Restarted followers of NATS 2.14 might never catch up
// under a sustained load (nats-server issue 8519).
import { setTimeout as sleep } from 'node:timers/promises';

const SILENCE_MS = 3_000;
const PROBE_MS = 1_000;
const LOOK_MS = 50;

export class BackOff {
  #heard = performance.now();
  #nextProbe = 0;

  /** Waits until one message may be sent. */
  async turn() {
    while (performance.now() - this.#heard >= SILENCE_MS) {
      const now = performance.now();
      if (now >= this.#nextProbe) {
        this.#nextProbe = now + PROBE_MS;
        return;
      }
      await sleep(LOOK_MS);
    }
  }

  /** A message was acknowledged. */
  heard() {
    this.#heard = performance.now();
  }
}
