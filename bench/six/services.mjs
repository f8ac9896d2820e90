// The services, as clients see them: searches and inserts over gRPC, and starts.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../../examples/demo/server.mjs';
import { fill } from '../requests/fill.mjs';
import { readStat } from '../requests/processor.mjs';
import { openInterface } from '../writes/interfaces.mjs';
import { untilLinked } from '../writes/linking.mjs';

const RECALL = 0.98;
const CONNECTIONS = 8;
const SLICE_MS = 1_000;
/** Long enough to be told apart by ticks. */
const BATCH = 5_000;
const ENV = { WARM_METRICS: 'euclidean', LOG_LEVEL: 'error' };

/** A tick of the processor times of Linux. */
const TICK_MS = 10;

/** What a search, a batch and a start take the service in processor time. */
export async function measureServices(builds, set, inTurns) {
  const dimension = set.base[0].length;
  const folder = mkdtempSync(join(tmpdir(), 'vectord-six-'));
  const client = fork(new URL('../requests/client.mjs', import.meta.url));
  const tell = async (message) => {
    client.send(message);
    return (await once(client, 'message'))[0];
  };
  const services = builds.map(({ name, root }) => {
    const main = join(root, 'dist/main.js');
    const start = async () =>
      await startServer({ dimension, env: ENV, folder: join(folder, name), main });
    return { name, start, running: undefined };
  });
  try {
    let ef;
    for (const service of services) {
      service.running = await service.start();
      const filled = await fill(service.running, set, RECALL);
      ef ??= filled.ef;
      const { name, running } = service;
      const port = Number(running.grpc.split(':').at(-1));
      const vectors = set.queries.map((vector) => [...vector]);
      const { key } = running;
      const task = { kind: 'grpc', port, key, connections: CONNECTIONS, vectors, ef };
      await tell({ type: 'open', name, ...task });
    }
    const search = async ({ name, running: { pid } }) => {
      const before = processorMs(pid);
      const { searches } = await tell({ type: 'ask', name, durationMs: SLICE_MS });
      return (1_000 * (processorMs(pid) - before)) / searches;
    };
    const insert = async ({ running }, turn) => {
      const target = openInterface('grpc', running);
      const at = ((turn + 1) * BATCH) % set.base.length;
      const batch = target.makeBatch(set.base.slice(at, at + BATCH));
      const before = processorMs(running.pid);
      await target.insert(batch);
      await untilLinked(running.pid);
      return processorMs(running.pid) - before;
    };
    const restart = async (service) => {
      await service.running.stop();
      service.running = await service.start();
      const target = openInterface('grpc', service.running);
      await target.search(target.makeSearch(set.queries[0]));
      return processorMs(service.running.pid);
    };
    const of = `${set.name} over gRPC`;
    return [
      { what: `${of}: a search (ef ${ef})`, unit: 'µs', values: await inTurns(services, search) },
      {
        what: `${of}: a batch of ${BATCH}, until its points are linked`,
        unit: 'ms',
        values: await inTurns(services, insert),
      },
      {
        what: `${set.name}: a restart, until a search is answered`,
        unit: 'ms',
        values: await inTurns(services, restart),
      },
    ];
  } finally {
    client.kill();
    for (const { running } of services) await running?.stop();
    rmSync(folder, { recursive: true });
  }
}

/** The processor time of a process since its start. */
function processorMs(pid) {
  return TICK_MS * readStat(`/proc/${pid}/stat`).ticks;
}
