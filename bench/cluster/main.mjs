// What a cluster costs, in one run: three nodes on three NATS servers, beside one server of the same
// settings, and beside three servers that know nothing of each other and get the same points. CPU time
// is that of all processes, the NATS servers included. Usage: see --help.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { connect } from '../../dist/client/node.js';
import { freePorts, Servers } from '../../test/support/nats-servers.mjs';
import { Table } from './table.mjs';

const { values: options } = parseArgs({
  options: {
    points: { type: 'string', default: '5000' },
    dimension: { type: 'string', default: '128' },
    singles: { type: 'string', default: '2000' },
    searches: { type: 'string', default: '4000' },
    clients: { type: 'string', default: '64' },
    rounds: { type: 'string', default: '5' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (options.help) {
  console.log(`bench/cluster.sh [flags]
  --points N     points that a round stores in batches of 500, and links (5000)
  --dimension N  values of a vector (128)
  --singles N    points that a round stores one by one (2000)
  --searches N   searches of a round at each node, 10 neighbours each (4000)
  --clients N    writes under way at one time, and searches at each node (64)
  --rounds N     rounds that count, after one that does not (5)`);
  process.exit(0);
}
const [points, dimension, singles, searches, clients, rounds] = [
  options.points,
  options.dimension,
  options.singles,
  options.searches,
  options.clients,
  options.rounds,
].map(Number);

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const KEY = 'the-key-of-this-benchmark';
const BATCH = 500;
const BATCHES_UNDER_WAY = 4;
const IDLE_S = 3;
const TICKS_PER_S = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

const folder = mkdtempSync(join(tmpdir(), 'cluster-bench-'));
const keys = join(folder, 'keys.json');
writeFileSync(keys, JSON.stringify({ keys: [{ name: 'bench', role: 'readwrite', key: KEY }] }), {
  mode: 0o600,
});
const servers = await Servers.start(process.env.NATS_SERVER ?? 'nats-server', folder);
const running = [];
const queries = someVectors(1_000).map(({ vector }) => vector);
try {
  const table = new Table();
  const one = await startNodes('one server', 1, {});
  const three = await startNodes('three servers', 3, {});
  const urls = servers.addresses.map((at) => `nats://${at}`).join(',');
  const strong = await startNodes('cluster', 3, { CLUSTER_URL: urls }, servers.pids);
  await inRounds(table, async (counted) => {
    for (const service of [one, three, strong]) await rest(service, counted);
    for (const service of [one, three, strong]) await writeTo(service, counted);
    for (const service of [one, three, strong]) await search(service, 'search, strong', counted);
  });
  await stop(strong);
  const session = await startNodes(
    'cluster',
    3,
    { CLUSTER_URL: urls, CLUSTER_READS: 'session' },
    servers.pids,
  );
  await inRounds(table, async (counted) => {
    for (const service of [one, three, session]) await rest(service, new Table());
    for (const service of [one, three, session]) await search(service, 'search, session', counted);
  });
  const rows = table.rows();
  console.table(rows);
  mkdirSync('bench/results', { recursive: true });
  writeFileSync('bench/results/cluster.json', `${JSON.stringify(rows, undefined, 2)}\n`);
} finally {
  await Promise.all(running.map(stop));
  await servers.end();
  rmSync(folder, { recursive: true, force: true });
}

/**
 * Starts services on free ports; those of one name have the same data folders.
 *
 * @param others further processes whose time counts
 */
async function startNodes(name, count, settings, others = []) {
  const ports = await freePorts(2 * count);
  const nodes = ports.slice(0, count).map((http, index) => {
    mkdirSync(join(folder, name), { recursive: true });
    const log = openSync(join(folder, name, `${index}.log`), 'a');
    const env = {
      ...process.env,
      ...settings,
      HTTP_PORT: String(http),
      GRPC_PORT: String(ports[count + index]),
      DATA_PATH: join(folder, name, String(index)),
      DIMENSION: String(dimension),
      SERVICE_KEYS_FILE: keys,
      WARM_METRICS: 'euclidean',
    };
    return spawn(process.execPath, [MAIN], { env, stdio: ['ignore', log, log] });
  });
  const service = { name, nodes, isCluster: 'CLUSTER_URL' in settings };
  running.push(service);
  for (const http of ports.slice(0, count)) await ready(`http://127.0.0.1:${http}/ready`);
  service.pids = [nodes.map(({ pid }) => pid), others];
  // One connection for all rounds: it stays with one loop of its server, whose code is compiled then.
  service.connections = ports
    .slice(count)
    .map((port) => connect(`grpc://127.0.0.1:${port}`, { key: KEY }));
  return service;
}

async function ready(url) {
  const giveUpAt = performance.now() + 60_000;
  while (performance.now() < giveUpAt) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.status === 200) return;
    await sleep(100);
  }
  throw new Error(`${url} does not answer 200`);
}

async function stop({ nodes, connections = [] }) {
  for (const connection of connections) connection.close();
  for (const node of nodes) {
    if (node.exitCode !== null || node.signalCode !== null) continue;
    node.kill('SIGTERM');
    while (node.exitCode === null && node.signalCode === null) await sleep(50);
  }
}

/** What the processes do by themselves does not count as the cost of a request. */
async function rest(service, table) {
  service.idleUs = [0, 0];
  const idle = await measure(service, IDLE_S, async () => await sleep(IDLE_S * 1_000));
  table.add('second without requests', service, idle);
  service.idleUs = [idle.cpuUs - idle.natsUs, idle.natsUs];
}

/** The first round does not count: code that has just been started is not compiled yet. */
async function inRounds(table, act) {
  for (let round = 0; round <= rounds; round += 1) await act(round === 0 ? new Table() : table);
}

/** A cluster gets each point once, and servers that know nothing of each other get it each. */
async function writeTo(service, table) {
  const { connections, isCluster } = service;
  const write = async (at, count) => {
    const vectors = someVectors(count);
    const receivers = isCluster ? [connections[at % connections.length]] : connections;
    await Promise.all(receivers.map(async (receiver) => await receiver.upsert(vectors)));
  };
  const writeAll = async (requests, count, underWay) => {
    await inParallel(underWay, range(requests), async (at) => await write(at, count));
    for (const connection of connections) await linked(connection);
  };
  const inBatches = async () => await writeAll(points / BATCH, BATCH, BATCHES_UNDER_WAY);
  table.add('point in batches of 500, linked', service, await measure(service, points, inBatches));
  const oneByOne = async () => await writeAll(singles, 1, clients);
  table.add('point by itself, linked', service, await measure(service, singles, oneByOne));
}

/**
 * Each node is asked by as many clients as the one server, and as often: what an event loop does once
 * for all requests that have come meanwhile is shared by as many.
 */
async function search(service, what, table) {
  const total = searches * service.connections.length;
  const cost = await measure(service, total, async () => {
    await Promise.all(service.connections.map(searchAt));
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
async function linked(connection) {
  for (;;) {
    const { graphs } = await connection.info();
    if (graphs.every(({ slots, linked: done }) => slots === done)) return;
    await sleep(100);
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
