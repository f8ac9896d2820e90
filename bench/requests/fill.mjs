import { openInterface } from '../writes/interfaces.mjs';
import { untilLinked } from '../writes/linking.mjs';
import { breadthFor } from './recall.mjs';

const RECALL = 0.98;
const LOAD_STEP = 5_000;

/** Stores the points, waits until all are linked and looks for the breadth that finds enough. */
export async function fill(service, { base, queries }) {
  const target = openInterface('grpc', service);
  for (let start = 0; start < base.length; start += LOAD_STEP) {
    await target.insert(target.makeBatch(base.slice(start, start + LOAD_STEP)));
  }
  await untilLinked(service.pid);
  return await breadthFor(RECALL, service, queries, base.length);
}
