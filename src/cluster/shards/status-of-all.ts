import type { PointsDamage, PointsStatus } from '../../core/points.js';

/** The state of points of which each shard has some: what is wrong with one of them is wrong with all. */
export function statusOfAll(shards: readonly PointsStatus[]): PointsStatus {
  const failures = shards.flatMap(({ failure }, shard) =>
    failure === undefined ? [] : [`shard ${shard}: ${failure}`],
  );
  return {
    points: shards.reduce((sum, { points }) => sum + points, 0),
    failure: failures.length === 0 ? undefined : failures.join('; '),
    isFull: shards.some(({ isFull }) => isFull),
    damage: damageOfAll(shards.flatMap(({ damage }) => damage ?? [])),
    // What several shards say alike, as of the servers between them, is one fault.
    faults: [...new Set(shards.flatMap(({ faults = [] }) => faults))],
  };
}

function damageOfAll(damages: readonly PointsDamage[]): PointsDamage | undefined {
  if (damages.length === 0) return undefined;
  return {
    points: damages.flatMap(({ points }) => points),
    damagedPoints: damages.reduce((sum, { damagedPoints }) => sum + damagedPoints, 0),
    damagedHeaders: damages.reduce((sum, { damagedHeaders }) => sum + damagedHeaders, 0),
  };
}
