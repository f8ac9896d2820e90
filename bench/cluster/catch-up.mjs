import { setTimeout as sleep } from 'node:timers/promises';
import { BATCH, linked, storeInBatches } from './load.mjs';
import { points, rounds } from './options.mjs';
import { median, spread } from './table.mjs';

const APPLIED = /^vectord_cluster_applied_sequence\{.*\} (\d+)$/m;
const LOOK_MS = 10;

/** How fast a node takes what was written while it was away, beside how fast that was written. */
export async function catchUp(services) {
  const cluster = await services.cluster('cluster', 3);
  const [quiet, busy] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    quiet.push(await beAway(cluster, false));
    busy.push(await beAway(cluster, true));
  }
  return [row('nothing written meanwhile', quiet), row('one batch after the other', busy)];
}

function row(meanwhile, all) {
  return {
    meanwhile,
    'points written a second': Math.round(median(all.map(({ written }) => written))),
    'caught up a second': Math.round(median(all.map(({ taken }) => taken))),
    'times as many': spread(all.map(({ written, taken }) => taken / written)),
  };
}

/** Points a second: those written while a node is away, and those that it then takes. */
async function beAway({ nodes, connections }, isBusy) {
  const away = nodes[2];
  const others = { connections: connections.slice(0, 2), isCluster: true };
  const before = await appliedBy(away);
  await away.stop();
  const writtenFrom = performance.now();
  await storeInBatches(others, points);
  const written = points / secondsSince(writtenFrom);
  await linked(others);

  away.run();
  await away.listens();
  // It follows its stream from now on.
  const takenFrom = performance.now();
  const over = new AbortController();
  const writing = isBusy ? keepWriting(others, over.signal) : undefined;
  let [last, applied] = [Infinity, 0];
  while (applied < last) {
    await sleep(LOOK_MS);
    last = await appliedBy(nodes[0]);
    applied = await appliedBy(away);
  }
  const taken = ((applied - before) * BATCH) / secondsSince(takenFrom);
  over.abort();
  await writing;
  await away.ready();
  await linked({ connections });
  return { written, taken };
}

async function keepWriting(service, signal) {
  while (!signal.aborted) await storeInBatches(service, BATCH);
}

/** The sequence of the last message that a node has applied: of a batch of points each. */
async function appliedBy(node) {
  const metrics = await (await node.get('/metrics')).text();
  return Number(APPLIED.exec(metrics)[1]);
}

function secondsSince(ms) {
  return (performance.now() - ms) / 1_000;
}
