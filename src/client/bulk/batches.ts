import type { NewPoint } from '../model.js';
import { fullPoint } from '../requests.js';
import type { Transport } from '../transport.js';
import { Batch, type BatchLimits } from './batch.js';

/**
 * Points in batches, read only as far as they are asked for. A point whose id is in a batch that has
 * not settled waits for it, so that of points with one id the last one is stored last.
 */
export async function* batchesOf(
  points: Iterable<NewPoint<object>> | AsyncIterable<NewPoint<object>>,
  limits: BatchLimits,
  transport: Pick<Transport, 'encode'>,
): AsyncGenerator<Batch, void, undefined> {
  const open = new Set<Batch>();
  const opened = (start: number): Batch => {
    const fresh = new Batch(start);
    void fresh.settled.then(() => open.delete(fresh));
    return fresh;
  };
  let batch = opened(0);
  let at = 0;
  for await (const given of points) {
    const point = transport.encode(fullPoint(given, `points[${at}]`));
    at += 1;
    if (batch.has(point.id) || !batch.hasRoomFor(point, limits)) {
      open.add(batch);
      yield batch;
      batch = opened(at - 1);
    }
    for (const other of open) if (other.has(point.id)) await other.settled;
    batch.add(point);
  }
  if (batch.points.length > 0) yield batch;
}
