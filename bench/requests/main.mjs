// Processor time that the server spends on a search, beside what requests cost without an engine:
// bench/requests.sh, and bench/README.md says how to read the results.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startServer } from '../../examples/demo/server.mjs';
import { machine } from '../publish/machine.mjs';
import { markdown } from '../publish/markdown.mjs';
import { spread } from '../writes/spread.mjs';
import { DIMENSION, readVectors } from '../writes/vectors.mjs';
import { measureBatches } from './batch.mjs';
import { fill } from './fill.mjs';
import { KEY } from './fixed.mjs';
import { processorUs } from './processor.mjs';

const CONNECTIONS = 8;
const RECALL = 0.98;
const SLICE_MS = 400;
const RESULTS = fileURLToPath(new URL('../results/', import.meta.url));

const SEARCH = 'vectord, search';
/** What runs without an engine, in `rivals.mjs`. */
const RIVALS = [
  { name: 'nice-grpc, empty call, 128', rival: 'empty', kind: 'grpc', dimension: 128 },
  { name: 'our transport, empty call, 128', rival: 'transport', kind: 'grpc', dimension: 128 },
  { name: 'node:http2, empty call, 128', rival: 'bare', kind: 'grpc', dimension: 128 },
  { name: 'vectord, gRPC, 128', rival: 'grpc', kind: 'grpc', dimension: 128 },
  { name: 'nice-grpc, ts-proto, 1536', rival: 'generated', kind: 'grpc', dimension: 1536 },
  { name: 'vectord, gRPC, 1536', rival: 'grpc', kind: 'grpc', dimension: 1536 },
  { name: 'koa, @koa/bodyparser, 768', rival: 'koa', kind: 'http', dimension: 768 },
  { name: 'vectord, HTTP, 768', rival: 'http', kind: 'http', dimension: 768 },
];
const TARGETS = [
  { of: SEARCH, over: 'nice-grpc, empty call, 128', most: 2.2 },
  { of: 'our transport, empty call, 128', over: 'nice-grpc, empty call, 128', most: 0.75 },
  { of: 'vectord, gRPC, 128', over: 'nice-grpc, empty call, 128', most: 1.15 },
  { of: 'vectord, gRPC, 1536', over: 'nice-grpc, ts-proto, 1536', most: 0.7 },
  { of: 'vectord, HTTP, 768', over: 'koa, @koa/bodyparser, 768', most: 0.5 },
];

const { values: flags } = parseArgs({
  options: {
    data: { type: 'string', default: process.env.VECTORD_DATA },
    short: { type: 'boolean', default: false },
  },
});
const points = flags.short ? 10_000 : 100_000;
const rounds = flags.short ? 5 : 35;
const data = readVectors(flags.data, points);
const about = machine();
const servers = [];
const client = fork(new URL('client.mjs', import.meta.url));
const children = [client];
const service = await startServer({
  dimension: DIMENSION,
  env: { WARM_METRICS: 'euclidean', LOG_LEVEL: 'error' },
});
try {
  const breadth = await fill(service, data, RECALL);
  const port = Number(service.grpc.split(':').at(-1));
  const { key, pid } = service;
  servers.push({
    name: SEARCH,
    kind: 'grpc',
    dimension: DIMENSION,
    ef: breadth.ef,
    port,
    key,
    pid,
  });
  for (const rival of RIVALS) servers.push(await startRival(rival));
  for (const server of servers) {
    const vectors = vectorsOf(server.dimension);
    await tell({ ...server, type: 'open', connections: CONNECTIONS, vectors });
    await measure(server);
  }
  const times = [];
  for (let round = 0; round < rounds; round += 1) {
    times.push(await measureRound(round));
    console.error(`round ${round + 1} of ${rounds}:`, times.at(-1));
  }
  const batches = await measureBatches(flags.short ? 1 : 5);
  report(breadth, times, batches);
} finally {
  for (const child of children) child.kill();
  await service.stop();
}

async function startRival({ name, rival, kind, dimension }) {
  const child = fork(new URL('rivals.mjs', import.meta.url), [rival, String(dimension)]);
  children.push(child);
  const [{ port }] = await once(child, 'message');
  return { name, kind, dimension, ef: 0, port, key: KEY, pid: child.pid };
}

/** The queries of the set, and what is as long as that of other models. */
function vectorsOf(dimension) {
  if (dimension === DIMENSION) return data.queries.map((vector) => [...vector]);
  return data.queries.map((vector) =>
    Array.from({ length: dimension }, (_, at) =>
      Math.fround(Math.sin(at + vector[at % DIMENSION])),
    ),
  );
}

/** Every server once, in another order each time; the time of one search, by name. */
async function measureRound(round) {
  const order = [
    ...servers.slice(round % servers.length),
    ...servers.slice(0, round % servers.length),
  ];
  const times = {};
  for (const server of round % 2 === 0 ? order : order.toReversed()) {
    times[server.name] = await measure(server);
  }
  return times;
}

/** Microseconds of processor time of the server for each search of some seconds. */
async function measure({ name, pid }) {
  const before = processorUs(pid);
  const { searches } = await tell({ type: 'ask', name, durationMs: SLICE_MS });
  return Number(((processorUs(pid) - before) / searches).toFixed(1));
}

async function tell(message) {
  client.send(message);
  const [answer] = await once(client, 'message');
  return answer;
}

function report({ ef, recall }, times, batches) {
  const rows = servers.map(({ name }) => ({
    server: name,
    'processor time of a search, µs': spread(
      times.map((round) => round[name]),
      1,
    ),
  }));
  const verdicts = TARGETS.map(({ of, over, most }) => {
    const found = spread(
      times.map((round) => round[of] / round[over]),
      2,
    );
    const met = flags.short ? null : found.median <= most;
    return { what: `${of}, over ${over}`, found, target: `at most ${most}`, met };
  });
  const shares = spread(
    batches.map(({ readUs, wholeUs }) => readUs / wholeUs),
    4,
  );
  verdicts.push({
    what: 'reading a batch of 1,000 x 384 over gRPC, of all that it costs',
    found: shares,
    target: 'at most 0.02',
    met: flags.short ? null : shares.median <= 0.02,
  });
  const settings = {
    data: `${data.name}, ${points} points of ${DIMENSION} values for the search, no engine elsewhere`,
    search: `Euclidean, limit 10, ef ${ef}: recall@10 ${recall.toFixed(3)}`,
    client: `${CONNECTIONS} connections, each with one request at a time`,
    rounds: `${rounds} of ${SLICE_MS / 1_000} s a server; the median, the least and the most`,
  };
  const ms = (name) =>
    spread(
      batches.map((batch) => batch[name] / 1_000),
      2,
    );
  const batchRows = [
    { 'of a batch': 'reading the message', 'processor time, ms': ms('readUs') },
    { 'of a batch': 'all, until its points are linked', 'processor time, ms': ms('wholeUs') },
  ];
  const tables = [
    { title: 'Searches', rows },
    { title: 'Batches of 1,000 x 384 over gRPC', rows: batchRows },
  ];
  const found = { settings, tables, verdicts, decides: !flags.short };
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(`${RESULTS}requests.json`, `${JSON.stringify(found, undefined, 1)}\n`);
  console.log(markdown('What a request costs the server', { machine: about, ...found }));
  process.exitCode = verdicts.some(({ met }) => met === false) ? 1 : 0;
}
