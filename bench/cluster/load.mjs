import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { clients, dimension, points, rounds, searches, singles } from './options.mjs';
import { Table } from './table.mjs';

export const BATCH = 500;
const BATCHES_UNDER_WAY = 4;
const IDLE_S = 3;
const TICKS_PER_S = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

const queries = someVectors(1_000).map(({ vector }) => vector);

/** The first round does not count: code that has just been started is not compiled yet. */
export async function inRounds(table, act) {
  for (let round = 0; round <= rounds; round += 1) {
    await act(round === 0 ? new Table(table.bases) : table);
  }
}

/** What the processes do by themselves does not count as the cost of a request. */
export async function rest(service, table) {
  service.idleUs = [0, 0];
  const idle = await measure(service, IDLE_S, async () => await sleep(IDLE_S * 1_000));
  table?.add('second without requests', service, idle);
  service.idleUs = [idle.cpuUs - idle.natsUs, idle.natsUs];
}

/** Points in batches and one by one, until they are linked. */
export async function writeTo(service, table) {
  const inBatches = async () => {
    await storeInBatches(service, points);
    await linked(service);
  };
  table.add('point in batches of 500, linked', service, await measure(service, points, inBatches));
  const oneByOne = async () => {
    await inParallel(clients, range(singles), async (at) => await store(service, at, 1));
    await linked(service);
  };
  table.add('point by itself, linked', service, await measure(service, singles, oneByOne));
}

export async function storeInBatches(service, count) {
  const write = async (at) => await store(service, at, BATCH);
  await inParallel(BATCHES_UNDER_WAY, range(count / BATCH), write);
}

/** A cluster gets each point once, and servers that know nothing of each other get it each. */
async function store({ connections, isCluster }, at, count) {
  const vectors = someVectors(count);
  const receivers = isCluster ? [connections[at % connections.length]] : connections;
  await Promise.all(receivers.map(async (receiver) => await receiver.upsert(vectors)));
}

/**
 * Each node is asked by as many clients as the one server, and as often: what an event loop does once
 * for all requests that have come meanwhile is shared by as many.
 */
export async function search(service, what, table, asked = service.connections) {
  const cost = await measure(service, searches * asked.length, async () => {
    await Promise.all(asked.map(searchAt));
  });
  table.add(what, service, cost);
}

async function searchAt(connection) {
  await inParallel(clients, range(searches), async (at) => {
    const vector = queries[at % queries.length];
    await connection.search({ vector, similarity: 'Euclidean', limit: 10 });
  });
}

function range(count) {
  return Array.from({ length: count }).keys();
}

/** CPU time of all processes, per operation, without what they need when nothing is asked of them. */
async function measure({ pids, idleUs }, operations, act) {
  const before = pids.map(cpuOf);
  const begun = performance.now();
  await act();
  const seconds = (performance.now() - begun) / 1_000;
  const [nodes, nats] = pids.map((group, at) => {
    const allUs = (cpuOf(group) - before[at]) * 1e6;
    return (allUs - idleUs[at] * seconds) / operations;
  });
  return { cpuUs: nodes + nats, natsUs: nats, perSecond: operations / seconds };
}

function cpuOf(pids) {
  const ticks = pids.map((pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return Number(fields[11]) + Number(fields[12]);
  });
  return ticks.reduce((sum, one) => sum + one, 0) / TICKS_PER_S;
}

/** Waits until the graphs hold all points. */
export async function linked({ connections }) {
  for (const connection of connections) {
    for (;;) {
      const { graphs } = await connection.info();
      if (graphs.every(({ slots, linked: done }) => slots === done)) break;
      await sleep(100);
    }
  }
}

async function inParallel(count, items, act) {
  const left = items[Symbol.iterator]();
  const worker = async () => {
    for (const item of left) await act(item);
  };
  await Promise.all(Array.from({ length: count }, worker));
}

/** Vectors of a few clusters, as embeddings lie. */
function someVectors(count) {
  return Array.from({ length: count }, () => {
    const centre = Math.floor(Math.random() * 100);
    const vector = Float32Array.from(
      { length: dimension },
      (_, at) => Math.sin(centre * (at + 1)) + 0.6 * (Math.random() - 0.5),
    );
    return { vector, content: '' };
  });
}
