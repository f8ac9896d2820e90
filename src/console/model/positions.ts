/** Where something is in a picture. */
export type Position = readonly [x: number, y: number];

export type Direction = 'left' | 'right' | 'up' | 'down';

/** The number of the position nearest to a place, if any is within `reach`. */
export function nearestTo(
  positions: readonly Position[],
  place: Position,
  reach = Infinity,
): number | undefined {
  let nearest: number | undefined;
  let least = reach;
  for (const [at, position] of positions.entries()) {
    const distance = Math.hypot(position[0] - place[0], position[1] - place[1]);
    if (distance > least) continue;
    least = distance;
    nearest = at;
  }
  return nearest;
}

/**
 * The number of the position that is next in a direction: near, and rather ahead than aside.
 * Undefined if there is none on that side.
 */
export function nextTowards(
  positions: readonly Position[],
  from: number,
  direction: Direction,
): number | undefined {
  const start = positions[from];
  if (start === undefined) return undefined;
  const isUpright = direction === 'up' || direction === 'down';
  const sign = direction === 'left' || direction === 'up' ? -1 : 1;
  let next: number | undefined;
  let least = Infinity;
  for (const [at, [x, y]] of positions.entries()) {
    const [dx, dy] = [x - start[0], y - start[1]];
    const ahead = sign * (isUpright ? dy : dx);
    if (at === from || ahead <= 0) continue;
    const cost = ahead + 2 * Math.abs(isUpright ? dx : dy);
    if (cost >= least) continue;
    least = cost;
    next = at;
  }
  return next;
}
