// Rounds of faults against three servers of NATS JetStream under load: whether writes go on after
// each, how long they stood still, and whether everything acknowledged is in the stream, once, where
// the acknowledgement said. Usage: see --help.
import { jetstreamManager } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Servers } from '../../test/support/nats-servers.mjs';
import { findNatsServer } from '../../test/support/tools.mjs';
import { FAULTS } from './faults.mjs';
import { connectTo, Reader, Writers } from './load.mjs';
import { tableOf } from './report.mjs';

const STREAM = 'points-0';
const BUCKET = 'vectord';
const NANOSECONDS = 1e6;
/** Writes that stand still for this long after all servers run again hang for good. */
const HANG_MS = 120_000;
const CALM_MS = 2_000;
/** What the stream keeps, so that a server that comes back has something to catch up with. */
const KEPT_MESSAGES = 100_000;

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '50' },
    faults: { type: 'string' },
    writers: { type: 'string', default: '4' },
    bytes: { type: 'string', default: '2048' },
    folder: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (options.help) {
  console.log(`bench/nats.sh [flags]
  --rounds N     rounds of each fault, 50 unless said otherwise
  --faults TEXT  only faults whose name has this text
  --writers N    writers of each of three connections, one message at a time each (4)
  --bytes N      bytes of a message, at least 16 (2048)
  --folder PATH  where the servers store (a temporary folder, removed at the end)`);
  process.exit(0);
}

const program = findNatsServer();
if (program === undefined) {
  console.error(
    'nats-server is not here: node test/support/install.mjs, or name it in NATS_SERVER',
  );
  process.exit(1);
}
const rounds = Number(options.rounds);
const load = { writers: Number(options.writers), bytes: Number(options.bytes) };
const version = execFileSync(program, ['-v'], { encoding: 'utf8' }).trim();
const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'nats-faults-'));
const servers = await Servers.start(program, folder);
const results = [];
/** The rounds so far, of all faults. */
let played = 0;
try {
  await runAll();
} finally {
  await servers.end();
  if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
}

async function runAll() {
  const control = await connectTo(servers.addresses, 'control');
  const manager = await persist(() => jetstreamManager(control, { timeout: 5_000 }));
  await persist(() => createStream(manager));
  const map = await persist(() => new Kvm(control).create(BUCKET, { replicas: 3, history: 1 }));
  const connections = await Promise.all(
    servers.addresses.map((address, index) =>
      connectTo([address, ...servers.addresses.filter((one) => one !== address)], `node-${index}`),
    ),
  );
  const state = { verified: 0, revision: await persist(() => map.put('epoch', '0')) };
  const names = Object.keys(FAULTS).filter((name) => name.includes(options.faults ?? ''));
  // Turn by turn, so that each fault meets a stream that the others have harmed before.
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) {
      const result = await runRound(name, round, { manager, map, connections, control, state });
      results.push(result);
      console.log(JSON.stringify(result));
      writeResults();
    }
  }
  console.log(`\n${version}, ${load.writers * 3} writers, ${load.bytes} bytes a message\n`);
  console.log(tableOf(results));
  await Promise.all([control, ...connections].map((connection) => connection.close()));
  process.exitCode = results.some((result) => result.lost > 0) ? 1 : 0;
}

function createStream(manager) {
  return manager.streams.add({
    name: STREAM,
    subjects: [STREAM],
    num_replicas: 3,
    storage: 'file',
    retention: 'limits',
    discard: 'new',
    deny_delete: true,
    max_bytes: 8 * 2 ** 30,
    duplicate_window: 120_000 * NANOSECONDS,
  });
}

async function runRound(name, round, { manager, map, connections, control, state }) {
  const reader = new Reader(connections[0], STREAM, state.verified);
  const writers = connections.map((connection) => new Writers(connection, STREAM, load));
  await sleep(CALM_MS);
  const leader = await leaderOf(manager);
  for (const one of writers) one.takeLongestGap();
  const before = performance.now();
  const details = await FAULTS[name](servers, leader, round);
  const healed = performance.now();
  const hung = !(await allHeard(writers, healed, HANG_MS));
  const result = {
    fault: name,
    round,
    ...details,
    faultMs: Math.round(healed - before),
    standstillMs: Math.round(Math.max(...writers.map((one) => one.takeLongestGap()))),
    afterHealMs: Math.round(Math.max(...writers.map((one) => one.lastAck)) - healed),
    hung,
  };
  if (hung) result.remedy = await remedy(manager, writers);
  result.allCurrentMs = await whenAllCurrent(manager, healed);
  await sleep(CALM_MS);
  await Promise.all(writers.map((one) => one.end()));

  const acknowledged = new Map(writers.flatMap((one) => [...one.acknowledged]));
  const last = Math.max(state.verified, ...acknowledged.keys());
  result.acknowledged = acknowledged.size;
  result.unknown = writers.reduce((sum, one) => sum + one.unknown, 0);
  result.readerArrives = await reader.reaches(last, HANG_MS);
  result.readerRestarts = reader.restarts;
  result.gaps = reader.gaps.length;
  await reader.end();
  const again = new Reader(control, STREAM, state.verified);
  result.againArrives = await again.reaches(last, HANG_MS);
  await again.end();
  result.lost = countLost(acknowledged, again.ids) + countLost(acknowledged, reader.ids);
  result.twice = countTwice(again.ids);
  result.differing = countDiffering(reader.ids, again.ids);
  result.compareAndSet = await comparesAndSets(map, state, `after round ${played}`);
  state.verified = last;
  played += 1;
  if (last > KEPT_MESSAGES) {
    await persist(() => manager.streams.purge(STREAM, { seq: last - KEPT_MESSAGES }));
  }
  return result;
}

/** Whether every connection has an acknowledgement of later than `since` within a time. */
async function allHeard(writers, since, milliseconds) {
  while (performance.now() < since + milliseconds) {
    if (writers.every((one) => one.lastAck > since)) return true;
    await sleep(50);
  }
  return false;
}

/** What an operator would do about writes that hang. Returns what helped. */
async function remedy(manager, writers) {
  const leader = await leaderOf(manager);
  await servers.kill(leader);
  servers.run(leader);
  const now = performance.now();
  return (await allHeard(writers, now, HANG_MS)) ? 'the leader restarted' : 'none';
}

async function leaderOf(manager) {
  return persist(async () => {
    const { cluster } = await manager.streams.info(STREAM);
    const index = servers.names.indexOf(cluster?.leader);
    if (index < 0) throw new Error('The stream has no leader');
    return index;
  });
}

/** How long after `since` the stream says that it has all its replicas; null where it never does. */
async function whenAllCurrent(manager, since) {
  const end = performance.now() + HANG_MS;
  while (performance.now() < end) {
    try {
      const { cluster } = await manager.streams.info(STREAM);
      const replicas = cluster?.replicas ?? [];
      if (replicas.length === 2 && replicas.every(({ current, offline }) => current && !offline)) {
        return Math.round(performance.now() - since);
      }
    } catch {
      // The next question may find a leader.
    }
    await sleep(250);
  }
  return null;
}

/** Whether a write that knows the newest revision is taken, and one that does not is refused. */
async function comparesAndSets(map, state, value) {
  const known = state.revision;
  state.revision = await persist(async () => {
    const entry = await map.get('epoch');
    if (entry?.string() === value) return entry.revision;
    return map.update('epoch', value, entry?.revision);
  });
  const stale = await map.update('epoch', 'stale', known).then(
    () => false,
    () => true,
  );
  await persist(async () => {
    const entry = await map.get('epoch');
    if (entry?.string() !== value) throw new Error('A replica answered that is behind');
  });
  return stale;
}

function countLost(acknowledged, ids) {
  let lost = 0;
  for (const [sequence, id] of acknowledged) if (ids.get(sequence) !== id) lost += 1;
  return lost;
}

function countTwice(ids) {
  return ids.size - new Set(ids.values()).size;
}

function countDiffering(some, others) {
  let differing = 0;
  for (const [sequence, id] of some) {
    if (others.has(sequence) && others.get(sequence) !== id) differing += 1;
  }
  return differing;
}

/** Tries until it succeeds, for as long as writes may take. */
async function persist(attempt) {
  const end = performance.now() + HANG_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > end) throw error;
      await sleep(500);
    }
  }
}

function writeResults() {
  mkdirSync('bench/results', { recursive: true });
  const text = JSON.stringify({ version, load, results }, undefined, 2);
  writeFileSync('bench/results/nats.json', `${text}\n`);
}
