import type { Client } from '../client/interface.js';
import type { Filter, QueryByPoint, QueryByVector } from '../client/model.js';
import type { Mapping } from '../transfer/mapping.js';
import { storableVector } from '../transfer/point-of.js';
import type { Row, Source } from '../transfer/row.js';
import { RowFault, TransferError } from '../transfer/transfer-error.js';

/** What is searched for. */
export type Target = QueryByVector | QueryByPoint;

/** Stored points that are looked at for a sample: more would take long to list. */
const MOST_LISTED = 100_000;

/** The first vectors of a file. */
export async function targetsIn(
  source: Source,
  mapping: Mapping,
  dimension: number,
  count: number,
): Promise<readonly Target[]> {
  const targets: Target[] = [];
  for await (const row of source.rows(0)) {
    if (targets.length === count) break;
    targets.push(targetIn(row, mapping, dimension));
  }
  return targets;
}

function targetIn({ number, columns, fault }: Row, mapping: Mapping, dimension: number): Target {
  try {
    if (fault !== undefined) throw new RowFault(fault);
    return { vector: storableVector(columns, mapping, dimension) };
  } catch (error) {
    if (!(error instanceof RowFault)) throw error;
    throw new TransferError(`row ${number}: ${error.message}`);
  }
}

/** Stored points, evenly spread over the oldest ones; each is left out of its own neighbours. */
export async function sampledTargets(
  client: Client,
  count: number,
  filter: Filter | undefined,
  signal: AbortSignal,
): Promise<readonly Target[]> {
  const ids: string[] = [];
  for await (const { id } of client.scroll({ include: [], filter, signal })) {
    ids.push(id);
    if (ids.length === MOST_LISTED) break;
  }
  const step = Math.max(1, ids.length / count);
  const length = Math.min(count, ids.length);
  const chosen = Array.from({ length }, (_, at) => ids[Math.floor(at * step)] ?? '');
  return chosen.map((like) => ({ like }));
}
