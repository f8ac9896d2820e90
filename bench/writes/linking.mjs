import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { readStat } from '../requests/processor.mjs';

const LOOK_INTERVAL_MS = 20;
/** Linking has ended when its threads have used no processor time for so long. */
const QUIET_MS = 1_000;

/**
 * Waits until the linking threads of a process have nothing left to do; answers when that was. It
 * is seen from outside, in the processor time that Linux counts for each thread.
 * @param {number} pid
 */
export async function untilLinked(pid) {
  let ticks = linkingTicks(pid);
  let changedMs = nowMs();
  while (nowMs() - changedMs < QUIET_MS) {
    await sleep(LOOK_INTERVAL_MS);
    const next = linkingTicks(pid);
    if (next !== ticks) changedMs = nowMs();
    ticks = next;
  }
  return changedMs;
}

function linkingTicks(pid) {
  const folder = `/proc/${pid}/task`;
  let ticks = 0;
  for (const thread of readdirSync(folder)) {
    const stat = readStat(`${folder}/${thread}/stat`);
    if (stat.name.startsWith('link-')) ticks += stat.ticks;
  }
  return ticks;
}

export function nowMs() {
  return Number(process.hrtime.bigint()) / 1e6;
}
