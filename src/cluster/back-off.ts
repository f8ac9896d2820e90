import { setTimeout as sleep } from 'node:timers/promises';

const SILENCE_MS = 3_000;
const PROBE_MS = 1_000;
const LOOK_MS = 50;

/**
 * When a stream may be written to: at any time while it acknowledges, and once a second, by one
 * message, once it has left messages unanswered for three seconds. Restarted followers of NATS 2.14
 * might never catch up under a sustained load (nats-server issue 8519).
 */
export class BackOff {
  /** When the first message was sent since the last acknowledgement. */
  #unansweredSince: number | undefined;
  #nextProbeAt = 0;

  /** Waits until one message may be sent; false if its sender gives up first. */
  async turn(sender: { readonly aborted: boolean }): Promise<boolean> {
    while (!sender.aborted) {
      const now = performance.now();
      this.#unansweredSince ??= now;
      if (now - this.#unansweredSince < SILENCE_MS) return true;
      if (now >= this.#nextProbeAt) {
        this.#nextProbeAt = now + PROBE_MS;
        return true;
      }
      await sleep(LOOK_MS);
    }
    return false;
  }

  /** A message was acknowledged. */
  heard(): void {
    this.#unansweredSince = undefined;
  }
}
