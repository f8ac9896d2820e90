// What a cluster costs beside a single server, in one run: three nodes on three NATS servers, and one
// server of the same settings. CPU time is that of all processes, the NATS servers included. Usage: see
// --help.
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

const { values: options } = parseArgs({
  options: {
    points: { type: 'string', default: '20000' },
    dimension: { type: 'string', default: '128' },
    singles: { type: 'string', default: '4000' },
    searches: { type: 'string', default: '8000' },
    clients: { type: 'string', default: '64' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (options.help) {
  console.log(`bench/cluster.sh [flags]
  --points N     points that are stored in batches of 500, and linked (20000)
  --dimension N  values of a vector (128)
  --singles N    points that are stored one by one (4000)
  --searches N   searches, 10 neighbours each (8000)
  --clients N    requests under way at one time (64)`);
  process.exit(0);
}
const [points, dimension, singles, searches, clients] = [
  options.points,
  options.dimension,
  options.singles,
  options.searches,
  options.clients,
].map(Number);

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const KEY = 'the-key-of-this-benchmark';
const BATCH = 500;
const IDLE_S = 5;
const TICKS_PER_S = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

const folder = mkdtempSync(join(tmpdir(), 'cluster-bench-'));
const keys = join(folder, 'keys.json');
writeFileSync(keys, JSON.stringify({ keys: [{ name: 'bench', role: 'readwrite', key: KEY }] }), {
  mode: 0o600,
});
const servers = await Servers.start(process.env.NATS_SERVER ?? 'nats-server', folder);
const running = [];
try {
  const one = await startNodes('one', 1, {});
  const cluster = { CLUSTER_URL: servers.addresses.map((at) => `nats://${at}`).join(',') };
  const strong = await startNodes('strong', 3, cluster);
  const rows = [];
  for (const [name, service, others] of [
    ['one server', one, []],
    ['cluster', strong, servers.pids],
  ]) {
    const idle = await measure(service, others, IDLE_S, async () => await sleep(IDLE_S * 1_000));
    rows.push(row(name, 'second without requests', idle));
  }
  const single = await loadAndSearch('one server', one, [], rows);
  await loadAndSearch('cluster, strong', strong, servers.pids, rows, single);
  for (const node of strong.processes) await stop(node);
  const session = await startNodes('strong', 3, { ...cluster, CLUSTER_READS: 'session' });
  await search('cluster, session', session, servers.pids, rows, single);
  console.table(rows);
  mkdirSync('bench/results', { recursive: true });
  writeFileSync('bench/results/cluster.json', `${JSON.stringify(rows, undefined, 2)}\n`);
} finally {
  await Promise.all(running.map(stop));
  await servers.end();
  rmSync(folder, { recursive: true, force: true });
}

/** Starts services on free ports; those of one name have the same data folders. */
async function startNodes(name, count, settings) {
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
    const node = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', log, log] });
    running.push(node);
    return node;
  });
  const addresses = ports.slice(count).map((port) => `grpc://127.0.0.1:${port}`);
  for (const http of ports.slice(0, count)) await ready(`http://127.0.0.1:${http}/ready`);
  return { processes: nodes, addresses };
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

async function stop(node) {
  if (node.exitCode !== null || node.signalCode !== null) return;
  node.kill('SIGTERM');
  while (node.exitCode === null && node.signalCode === null) await sleep(50);
}

async function loadAndSearch(name, service, others, rows, single) {
  const first = {};
  first.batches = await measure(service, others, points, async (connections) => {
    const batches = Array.from({ length: points / BATCH }, (_, at) => at);
    await inParallel(4, batches, async (at) => {
      await connections[at % connections.length].upsert(someVectors(BATCH));
    });
    for (const connection of connections) await linked(connection);
  });
  rows.push(row(name, 'point in batches of 500, linked', first.batches, single?.batches));
  first.singles = await measure(service, others, singles, async (connections) => {
    await inParallel(clients, Array.from({ length: singles }).keys(), async (at) => {
      await connections[at % connections.length].upsert(someVectors(1));
    });
    for (const connection of connections) await linked(connection);
  });
  rows.push(row(name, 'point by itself, linked', first.singles, single?.singles));
  return { ...first, searches: await search(name, service, others, rows, single) };
}

async function search(name, service, others, rows, single) {
  // Code that has just been started is slower: each node gets as many searches as the one server.
  await measure(service, others, searches, async (connections) => {
    for (const connection of connections) await linked(connection);
    await searchAll(connections, searches * connections.length);
  });
  const cost = await measure(service, others, searches, async (connections) => {
    await searchAll(connections, searches);
  });
  rows.push(row(name, 'search', cost, single?.searches));
  return cost;
}

async function searchAll(connections, count) {
  await inParallel(clients, Array.from({ length: count }).keys(), async (at) => {
    const [{ vector }] = someVectors(1);
    const query = { vector, similarity: 'Euclidean', limit: 10 };
    await connections[at % connections.length].search(query);
  });
}

function row(name, what, cost, single) {
  return {
    what,
    of: name,
    'CPU in us': Math.round(cost.cpuUs),
    'over one': single === undefined ? 1 : Number((cost.cpuUs / single.cpuUs).toFixed(2)),
    'per second': Math.round(cost.perSecond),
  };
}

/** CPU time of all processes, per operation. */
async function measure({ processes, addresses }, others, operations, act) {
  const connections = addresses.map((address) => connect(address, { key: KEY }));
  const pids = [...processes.map(({ pid }) => pid), ...others];
  const before = cpuOf(pids);
  const begun = performance.now();
  await act(connections);
  const seconds = (performance.now() - begun) / 1_000;
  const cpuUs = ((cpuOf(pids) - before) * 1e6) / operations;
  for (const connection of connections) connection.close();
  return { cpuUs, perSecond: operations / seconds };
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
