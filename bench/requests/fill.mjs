import { openInterface } from '../writes/interfaces.mjs';
import { untilLinked } from '../writes/linking.mjs';
import { breadthFor } from './recall.mjs';

const LOAD_STEP = 5_000;

/** Stores the points, waits until all are linked and looks for the breadth of that recall@10. */
export async function fill(service, { base, queries }, recall) {
  const target = openInterface('grpc', service);
  for (let start = 0; start < base.length; start += LOAD_STEP) {
    await target.insert(target.makeBatch(base.slice(start, start + LOAD_STEP)));
  }
  await untilLinked(service.pid);
  return await breadthFor(recall, service, queries, base.length);
}
