import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MEMORY_BOUND_BYTES, MIB, Target } from './target.js';

export interface Attack {
  readonly name: string;
  /**
   * Whether it may slow others down while it lasts: it comes from more than ten connections, or
   * from clients with a key. The service is as before within `RECOVERY_MS` nevertheless.
   */
  readonly mayDelay?: true;
  /** Does it once, to be done again for as long as the attack goes on; checks the answers it gets. */
  readonly strike: (target: Target) => Promise<void>;
}

/** What a healthy client asks for, over and over, and how. */
export interface Wish {
  readonly httpPath: string;
  readonly httpBody: string;
  readonly grpcMethod: string;
  readonly grpcMessage: Buffer;
}

/** What a healthy client told of its searches. */
interface Health {
  readonly count: number;
  readonly p99Ms: number;
  readonly refusals: number;
  readonly failures: readonly string[];
}

/** The long form is given its seconds; without them each attack lasts for a moment. */
const SECONDS = process.env['VECTORD_ATTACK_SECONDS'];
const ATTACK_MS = Number(SECONDS ?? '0.25') * 1000;
const CALM_MS = Math.max(150, ATTACK_MS / 4);

/** What a healthy client may see, as a multiple of its calm p99 or as a time, whichever is more. */
const SLOWDOWN = 10;
const PATIENCE_MS = 250;
/** How long after an attack that may delay others they are still delayed. */
const RECOVERY_MS = 5_000;
/** Other tests run beside the short form and take the processor, so it says nothing of latency. */
const IS_TIMED = SECONDS !== undefined;
const ATTEMPTS = IS_TIMED ? 2 : 1;

/** What a process may keep of its memory after attacks: V8 collects when it needs more again. */
const KEPT_BYTES = MEMORY_BOUND_BYTES;
/** How long a hook may wait for that, and for connections that are found dead. */
const HOOK_TIMEOUT_MS = 60_000;
/** Connections that clients of the tests keep for their next request. */
const OWN_SOCKETS = 16;
const HEALTHY_CLIENT = fileURLToPath(new URL('healthy-client.mjs', import.meta.url));

/** What the system tells of a process's memory and sockets is told by Linux alone. */
const IS_TOLD = process.platform === 'linux';

/**
 * Has a service go through one attack after the other: a healthy client is served throughout, its
 * memory stays below the bound, and afterwards it answers as before and has let go of everything.
 */
export function underAttack(
  family: string,
  attacks: readonly Attack[],
  wishOf: (target: Target) => Wish = aSearch,
): void {
  describe.skipIf(!IS_TOLD)(family, () => {
    let target: Target;
    let healthy: HealthyClient;
    const table: string[] = [];

    beforeAll(async () => {
      target = await Target.start();
      healthy = await HealthyClient.start(target, wishOf(target));
      await healthy.during(async () => await sleep(300));
      target.calmSockets = target.sockets();
      target.calmBytes = target.memoryBytes('VmRSS');
    });

    afterAll(async () => {
      console.log([family, ...table].join('\n'));
      const limitBytes = target.calmBytes + KEPT_BYTES;
      const isBack = await target.until(() => target.memoryBytes('VmRSS') < limitBytes);
      expect(isBack, `${mib(target.memoryBytes('VmRSS'))} are kept after the attacks`).toBe(true);
      healthy.stop();
      expect(target.server.log()).not.toMatch(/"level":"(error|fatal)"/);
      expect(await target.server.stop()).toBe(0);
    }, HOOK_TIMEOUT_MS);

    test.each(attacks)('$name', { timeout: 60_000 + 10 * ATTACK_MS }, async (attack) => {
      target.forgetPeak();
      const calm = await healthy.during(async () => await sleep(CALM_MS));
      const limitMs = allowedMs(calm);
      const hit = await struckOnce(target, healthy, attack, limitMs);
      const { server } = target;
      expect(server.endedBy(), `the service has ended:\n${server.log().slice(-2_000)}`).toBe(null);
      const after = attack.mayDelay ? await recovered(healthy, limitMs) : hit;
      const peakBytes = target.memoryBytes('VmHWM');
      const row = [`calm p99 ${ms(calm)}`, `p99 ${ms(hit)}`, `peak ${mib(peakBytes)}`];
      table.push(`  ${attack.name.padEnd(72)} ${row.join('  ')}`);

      // Of no search at all nothing would be slow.
      expect(Math.min(calm.count, hit.count)).toBeGreaterThan(0);
      expect(hit.failures).toEqual([]);
      expect(hit.refusals, 'refusals').toBe(0);
      expect(after.p99Ms).toBeLessThan(limitMs);
      expect(peakBytes).toBeLessThan(target.calmBytes + MEMORY_BOUND_BYTES);
      // What its connections have taken of the budget is back once they have ended.
      const isLetGo = await target.until(
        () => target.sockets() <= target.calmSockets + OWN_SOCKETS,
      );
      expect(isLetGo, `${target.sockets()} sockets, ${target.calmSockets} before`).toBe(true);
      expect(await target.faults()).toEqual([]);
    });
  });
}

function aSearch(target: Target): Wish {
  return {
    httpPath: '/points/search',
    httpBody: target.searchJson,
    grpcMethod: 'SearchPoints',
    grpcMessage: target.searchMessage,
  };
}

/** Once, or again where it was slow for whatever else the machine did. */
async function struckOnce(
  target: Target,
  healthy: HealthyClient,
  attack: Attack,
  limitMs: number,
): Promise<Health> {
  const isSlow = ({ p99Ms, failures, refusals }: Health): boolean =>
    attack.mayDelay !== true && p99Ms >= limitMs && failures.length + refusals === 0;
  let hit = await struck(target, healthy, attack);
  for (let attempt = 1; isSlow(hit) && attempt < ATTEMPTS; attempt += 1) {
    hit = await struck(target, healthy, attack);
  }
  return hit;
}

/** What a healthy client sees once it is served as before, or at the end of the time for that. */
async function recovered(healthy: HealthyClient, limitMs: number): Promise<Health> {
  const giveUpAtMs = performance.now() + RECOVERY_MS;
  let health: Health;
  do health = await healthy.during(async () => await sleep(CALM_MS));
  while (health.p99Ms >= limitMs && performance.now() < giveUpAtMs);
  return health;
}

async function struck(target: Target, healthy: HealthyClient, attack: Attack): Promise<Health> {
  return await healthy.during(async () => {
    const endsAtMs = performance.now() + ATTACK_MS;
    do await attack.strike(target);
    while (performance.now() < endsAtMs);
  });
}

function allowedMs(calm: Health): number {
  return IS_TIMED ? Math.max(SLOWDOWN * calm.p99Ms, PATIENCE_MS) : Infinity;
}

/** The process that searches at a steady rate, whatever happens around it. */
class HealthyClient {
  private constructor(private readonly child: ChildProcess) {}

  static async start(target: Target, wish: Wish): Promise<HealthyClient> {
    const { http, grpc, keys } = target.server;
    const env = { ...process.env, HTTP: http, GRPC: grpc, KEY: keys.readonly };
    const child = fork(HEALTHY_CLIENT, { env });
    await once(child, 'spawn');
    // More than the environment of a process holds.
    child.send({ ...wish, grpcMessage: wish.grpcMessage.toString('base64') });
    return new HealthyClient(child);
  }

  async during(act: () => Promise<void>): Promise<Health> {
    this.child.send('forget');
    await act();
    const told = once(this.child, 'message') as Promise<[Health]>;
    this.child.send('report');
    const [health] = await told;
    return health;
  }

  stop(): void {
    this.child.kill();
  }
}

function ms({ p99Ms }: Health): string {
  return `${p99Ms.toFixed(1)} ms`.padStart(9);
}

function mib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}
