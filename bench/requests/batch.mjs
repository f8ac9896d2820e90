import { startServer } from '../../examples/demo/server.mjs';
import { readInsertBatch } from '../../dist/wire/protobuf/read-insert.js';
import { openInterface } from '../writes/interfaces.mjs';
import { untilLinked } from '../writes/linking.mjs';
import { processorUs } from './processor.mjs';

const DIMENSION = 384;
const POINTS = 1_000;
const BATCHES = 20;
const REPEATS = 5;

/**
 * What a batch over gRPC costs the server in processor time until its points are linked, and what
 * of it goes into reading the message, both in microseconds; one figure for each round.
 * @param {number} rounds
 */
export async function measureBatches(rounds) {
  const env = { WARM_METRICS: 'euclidean', LOG_LEVEL: 'error' };
  const server = await startServer({ dimension: DIMENSION, env });
  try {
    const target = openInterface('grpc', server);
    const found = [];
    for (let round = -1; round < rounds; round += 1) {
      const batches = Array.from({ length: BATCHES }, () => target.makeBatch(makeVectors()));
      const before = processorUs(server.pid);
      for (const batch of batches) await target.insert(batch);
      await untilLinked(server.pid);
      const wholeUs = (processorUs(server.pid) - before) / BATCHES;
      const times = Array.from({ length: REPEATS }, () => readUs(batches)).toSorted(
        (a, b) => a - b,
      );
      // The first round finds code that has not been compiled yet.
      if (round >= 0) found.push({ wholeUs, readUs: times[Math.floor(REPEATS / 2)] });
    }
    return found;
  } finally {
    await server.stop();
  }
}

function readUs(batches) {
  const before = process.cpuUsage();
  for (const batch of batches) readInsertBatch(batch, () => {});
  const { user, system } = process.cpuUsage(before);
  return (user + system) / batches.length;
}

function makeVectors() {
  return Array.from({ length: POINTS }, () =>
    Array.from({ length: DIMENSION }, () => Math.fround(Math.random() - 0.5)),
  );
}
