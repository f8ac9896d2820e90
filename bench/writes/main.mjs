// How long searches take while a batch is inserted and linked, beside how long they take in calm:
// bench/writes.sh, and bench/README.md says how to read the results.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startServer } from '../../examples/demo/server.mjs';
import { machine } from '../publish/machine.mjs';
import { markdown } from '../publish/markdown.mjs';
import { openInterface } from './interfaces.mjs';
import { nowMs, untilLinked } from './linking.mjs';
import { percentile, spread } from './spread.mjs';
import { DIMENSION, readVectors } from './vectors.mjs';

/** The target: p99 in the calm times this, and so many milliseconds more. */
const FACTOR = 3;
const EXTRA_MS = 5;

/** Space for all garbage of the searching process: to collect it takes up to 40 ms, which would count. */
const NO_PAUSES = ['--min-semi-space-size=512', '--max-semi-space-size=512'];

const BATCH = 10_000;
const LOAD_STEP = 5_000;
const CALM_MS = 10_000;
const WARM_UP_MS = 2_000;
const RESULTS = fileURLToPath(new URL('../results/', import.meta.url));

const { values: flags } = parseArgs({
  options: {
    data: { type: 'string', default: process.env.VECTORD_DATA },
    interfaces: { type: 'string', default: 'grpc,http' },
    points: { type: 'string', default: '50000' },
    rate: { type: 'string', default: '200' },
    runs: { type: 'string', default: '5' },
  },
});
const [points, rate, runs] = [flags.points, flags.rate, flags.runs].map(Number);
const data = readVectors(flags.data, points + runs * BATCH);
const about = machine();
const results = [];
for (const name of flags.interfaces.split(',')) results.push(await measure(name));
report();
process.exitCode = results.every(({ isMet }) => isMet) ? 0 : 1;

/** All runs over one interface, on a server of its own. */
async function measure(name) {
  const env = { WARM_METRICS: 'euclidean', LOG_LEVEL: 'error' };
  const server = await startServer({ dimension: DIMENSION, env });
  try {
    const target = openInterface(name, server);
    for (let start = 0; start < points; start += LOAD_STEP) {
      const end = Math.min(start + LOAD_STEP, points);
      await target.insert(target.makeBatch(data.base.slice(start, end)));
    }
    await untilLinked(server.pid);
    const rounds = [];
    for (let run = 0; run < runs; run += 1) {
      const start = points + run * BATCH;
      const batch = target.makeBatch(data.base.slice(start, start + BATCH));
      rounds.push(await measureRun(name, server, batch));
      console.error(`${name}, run ${run + 1} of ${runs}:`, rounds.at(-1));
    }
    const shares = rounds.map(({ writeP99Ms, allowedMs }) => writeP99Ms / allowedMs);
    return { name, rounds, shares, isMet: percentile(shares, 50) <= 1 };
  } finally {
    await server.stop();
  }
}

/** A calm while and then a batch, searched all the time; each client is a process of its own. */
async function measureRun(name, { http, grpc, key, pid }, batch) {
  const folder = mkdtempSync(join(tmpdir(), 'vectord-writes-'));
  const file = join(folder, 'batch');
  writeFileSync(file, batch);
  const inserterUrl = new URL('inserter.mjs', import.meta.url);
  const inserter = fork(inserterUrl, [name, JSON.stringify({ http, grpc, key }), file]);
  await once(inserter, 'message');
  rmSync(folder, { recursive: true });
  const searcher = fork(new URL('searcher.mjs', import.meta.url), { execArgv: NO_PAUSES });
  const vectors = data.queries.map((vector) => [...vector]);
  searcher.send({ name, server: { http, grpc, key }, vectors, rate });
  await sleep(WARM_UP_MS);
  const calmStartMs = nowMs();
  await sleep(CALM_MS);
  inserter.send('insert');
  const [{ sentMs, answeredMs }] = await once(inserter, 'message');
  const linkedMs = await untilLinked(pid);
  searcher.send({ type: 'stop' });
  const [samples] = await once(searcher, 'message');
  const between = (fromMs, toMs) =>
    samples.filter(([at]) => at >= fromMs && at < toMs).map(([, latencyMs]) => latencyMs);
  const calm = between(calmStartMs, sentMs);
  const write = between(sentMs, linkedMs);
  return {
    calmP50Ms: percentile(calm, 50),
    calmP99Ms: percentile(calm, 99),
    writeP50Ms: percentile(write, 50),
    writeP99Ms: percentile(write, 99),
    writeMostMs: Math.max(...write),
    allowedMs: FACTOR * percentile(calm, 99) + EXTRA_MS,
    answeredAfterMs: answeredMs - sentMs,
    linkedAfterMs: linkedMs - sentMs,
    searches: write.length,
  };
}

function report() {
  const rows = results.map(({ name, rounds }) => {
    const of = (key) =>
      spread(
        rounds.map((round) => round[key]),
        1,
      );
    return {
      interface: name,
      'calm p50 ms': of('calmP50Ms'),
      'calm p99 ms': of('calmP99Ms'),
      'writing p50 ms': of('writeP50Ms'),
      'writing p99 ms': of('writeP99Ms'),
      'writing most ms': of('writeMostMs'),
      'allowed p99 ms': of('allowedMs'),
      'answered after ms': of('answeredAfterMs'),
      'linked after ms': of('linkedAfterMs'),
    };
  });
  const verdicts = results.map(({ name, shares, isMet }) => ({
    what: `${name}: p99 while writing over what is allowed`,
    found: spread(shares, 2),
    target: 'at most 1',
    met: isMet,
  }));
  const settings = {
    data: `${data.name}, ${DIMENSION} values`,
    points: `${points}, and ${BATCH} more in each run`,
    searches: `${rate} a second, of all sent until the last point of the batch is linked`,
    runs: `${runs}, of which the median, the least and the most`,
    allowed: `${FACTOR} times the p99 in calm and ${EXTRA_MS} ms more`,
  };
  const tables = [{ title: 'Time of searches', rows }];
  mkdirSync(RESULTS, { recursive: true });
  const found = { settings, tables, verdicts, decides: true };
  writeFileSync(`${RESULTS}writes.json`, `${JSON.stringify(found, undefined, 1)}\n`);
  console.log(markdown('Searches while a batch is inserted', { machine: about, ...found }));
}
