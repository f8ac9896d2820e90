// Whether a second loop is worth having: searches per second of two services with half of the
// clients each, beside one with all of them: bench/workers.sh.
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
import { fill } from './fill.mjs';

const CLIENTS = 2;
const CONNECTIONS = 4;
const SLICE_MS = 1_000;
/** What a second loop has to bring. */
const LEAST = 1.4;
const RESULTS = fileURLToPath(new URL('../results/', import.meta.url));

const { values: flags } = parseArgs({
  options: {
    data: { type: 'string', default: process.env.VECTORD_DATA },
    short: { type: 'boolean', default: false },
  },
});
const data = readVectors(flags.data, flags.short ? 10_000 : 100_000);
const rounds = flags.short ? 3 : 15;
const about = machine();
const env = { WARM_METRICS: 'euclidean', LOG_LEVEL: 'error' };
const services = [];
const clients = [];
try {
  let breadth;
  for (let index = 0; index < CLIENTS; index += 1) {
    const service = await startServer({ dimension: DIMENSION, env });
    services.push(service);
    breadth = await fill(service, data);
    clients.push(fork(new URL('client.mjs', import.meta.url)));
  }
  for (const [index, client] of clients.entries()) {
    await open(client, 'shared', services[0], breadth.ef);
    await open(client, 'own', services[index], breadth.ef);
  }
  for (const name of ['shared', 'own']) await searchesPerSecond(name);
  const found = [];
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 === 0 ? ['shared', 'own'] : ['own', 'shared'];
    const rates = {};
    for (const name of order) rates[name] = await searchesPerSecond(name);
    found.push(rates);
  }
  report(breadth, found);
} finally {
  for (const client of clients) client.kill();
  for (const service of services) await service.stop();
}

async function open(client, name, { grpc, key }, ef) {
  const vectors = data.queries.map((vector) => [...vector]);
  const port = Number(grpc.split(':').at(-1));
  client.send({
    type: 'open',
    name,
    kind: 'grpc',
    port,
    key,
    connections: CONNECTIONS,
    vectors,
    ef,
  });
  await once(client, 'message');
}

/** Of all clients together. */
async function searchesPerSecond(name) {
  const answers = clients.map(async (client) => {
    client.send({ type: 'ask', name, durationMs: SLICE_MS });
    const [{ searches }] = await once(client, 'message');
    return searches;
  });
  const searches = await Promise.all(answers);
  return (searches.reduce((sum, count) => sum + count, 0) * 1_000) / SLICE_MS;
}

function report({ ef, recall }, found) {
  const rows = [
    ['one', 'shared'],
    ['two', 'own'],
  ].map(([loops, name]) => ({
    loops,
    'searches a second': spread(
      found.map((rates) => rates[name]),
      0,
    ),
  }));
  const gain = spread(
    found.map(({ own, shared }) => own / shared),
    2,
  );
  const settings = {
    data: `${data.name}, ${data.base.length} points of ${DIMENSION} values`,
    search: `gRPC, Euclidean, limit 10, ef ${ef}: recall@10 ${recall.toFixed(3)}`,
    clients: `${CLIENTS} processes on the same machine, ${CONNECTIONS} connections each`,
    rounds: `${rounds} of ${SLICE_MS / 1_000} s each; the median, the least and the most`,
  };
  const met = flags.short ? null : gain.median >= LEAST;
  const what = 'searches a second of two loops over one';
  const verdicts = [{ what, found: gain, target: `at least ${LEAST}`, met }];
  const tables = [{ title: 'Searches', rows }];
  const results = { settings, tables, verdicts, decides: !flags.short };
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(`${RESULTS}workers.json`, `${JSON.stringify(results, undefined, 1)}\n`);
  console.log(markdown('A second loop', { machine: about, ...results }));
}
