// Whether a second event loop pays: the same service with LOOPS=1 and with LOOPS=2, in turns:
// bench/loops.sh, and bench/README.md says how to read the results.
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startServer } from '../../examples/demo/server.mjs';
import { machine } from '../publish/machine.mjs';
import { markdown } from '../publish/markdown.mjs';
import { percentile } from '../writes/spread.mjs';
import { readEmbeddings, readVectors } from '../writes/vectors.mjs';
import { SearchResponse } from '../../dist/gen/vectordb/vectordb.js';
import { fill } from './fill.mjs';
import { askByH2load } from './h2load.mjs';
import { BEFORE, compare, MANY, ONE, TWO } from './loops-report.mjs';
import { processorUs } from './processor.mjs';
import { openSearches } from './search-client.mjs';
import { FRAME_BYTES, framed, LIMIT, searchMessage } from './search-message.mjs';

const CONNECTIONS = [MANY, 2, 1];
const RECALL = 0.95;
/** Of what one loop reaches, the load under which latencies are compared. */
const PACE = 0.5;
const ENV = { WARM_METRICS: 'euclidean', LOG_LEVEL: 'error' };
const RESULTS = fileURLToPath(new URL('../results/', import.meta.url));
const READERS = { sift: readVectors, minilm: readEmbeddings };

const { values: flags } = parseArgs({
  options: {
    data: { type: 'string', default: process.env.VECTORD_DATA },
    set: { type: 'string', default: 'sift' },
    before: { type: 'string' },
    short: { type: 'boolean', default: false },
  },
});
const read = READERS[flags.set];
if (!read) throw new Error(`--set ${flags.set}: expected ${Object.keys(READERS).join(' or ')}`);
const data = read(flags.data, flags.short ? 10_000 : 100_000);
const dimension = data.base[0].length;
const rounds = flags.short ? 3 : 15;
const seconds = flags.short ? 1 : 2;
const about = machine();
const folder = mkdtempSync(join(tmpdir(), 'vectord-loops-'));
const log = join(folder, 'h2load.log');
const servers = [];
try {
  const breadth = await prepare(join(folder, 'filled'));
  await start(ONE, { LOOPS: '1' });
  await start(TWO, { LOOPS: '2' });
  if (flags.before) await start(BEFORE, { LOOPS: '1' }, resolve(flags.before, 'dist/main.js'));
  const requests = [];
  for (const vector of data.queries.slice(0, rounds)) {
    requests.push(await record(vector, breadth.ef, requests.length));
  }
  report(
    breadth,
    CONNECTIONS.map((connections) => measure(requests, connections)),
  );
} finally {
  for (const { stop } of servers) await stop();
  rmSync(folder, { recursive: true });
}

/** The folder of data that each server gets a copy of, graph included. */
async function prepare(filled) {
  const service = await startServer({ dimension, env: ENV, folder: filled });
  try {
    return await fill(service, data, RECALL);
  } finally {
    await service.stop();
  }
}

async function start(name, env, main) {
  const own = join(folder, name);
  cpSync(join(folder, 'filled'), own, { recursive: true });
  const server = await startServer({ dimension, env: { ...ENV, ...env }, folder: own, main });
  servers.push({ name, ...server });
}

/** A file of the request, once a real client has had ids from every server for it. */
async function record(vector, ef, index) {
  const message = searchMessage(vector, ef);
  const body = join(folder, `request-${index}`);
  writeFileSync(body, framed(message));
  let answerBytes = 0;
  for (const server of servers) {
    const { search, close } = openSearches(server);
    const answer = await search(message);
    close();
    const ids = answer.resultPointIds.length;
    if (ids !== LIMIT) throw new Error(`${server.name} answers ${ids} ids, expected ${LIMIT}`);
    answerBytes = FRAME_BYTES + SearchResponse.encode(answer).finish().length;
  }
  return { body, answerBytes };
}

/** Both loads over so many connections. */
function measure(requests, connections) {
  // Code that has not been compiled yet, and data that is in no cache, are found before.
  measureRounds(requests.slice(0, 1), { connections });
  const full = measureRounds(requests, { connections });
  const oneLoop = percentile(
    full.map((found) => found[ONE].rate),
    50,
  );
  const rate = Math.max(1, Math.round((PACE * oneLoop) / connections));
  const paced = measureRounds(requests, { connections, rate });
  return { connections, full, paced, pacedRate: rate * connections };
}

/** Every server once a round, in another order each time, with another request in each round. */
function measureRounds(requests, load) {
  return requests.map((request, round) => {
    const first = round % servers.length;
    const order = [...servers.slice(first), ...servers.slice(0, first)];
    const found = {};
    for (const server of order) {
      found[server.name] = measureSlice(server, { ...request, ...load, seconds, log });
    }
    return found;
  });
}

function measureSlice(server, load) {
  const beforeUs = processorUs(server.pid);
  const { answers, cpuUs, latenciesUs } = askByH2load(server, load);
  return {
    rate: answers / seconds,
    serverUs: (processorUs(server.pid) - beforeUs) / answers,
    clientUs: cpuUs / answers,
    latenciesUs,
  };
}

function report({ ef, recall }, measured) {
  const settings = {
    data: `${data.name}, ${data.base.length} points of ${dimension} values`,
    search: `gRPC, Euclidean, limit 10, ef ${ef}: recall@10 ${recall.toFixed(3)}`,
    client: 'h2load, one request at a time on each connection',
    servers: `LOOPS=1 and LOOPS=2${flags.before ? ', and before: another build' : ''}`,
    rounds: `${rounds} of ${seconds} s each; the median, the least and the most`,
    bound: '2s / (s + h), with the CPU of a search with one loop, s of the server and h of h2load',
  };
  const { tables, verdicts: judged } = compare(measured, availableParallelism());
  const verdicts = flags.short ? judged.map((verdict) => ({ ...verdict, met: null })) : judged;
  const results = { settings, tables, verdicts, decides: !flags.short };
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(`${RESULTS}loops.json`, `${JSON.stringify(results, undefined, 1)}\n`);
  console.log(markdown('A second event loop', { machine: about, ...results }));
  process.exitCode = verdicts.some(({ met }) => met === false) ? 1 : 0;
}
