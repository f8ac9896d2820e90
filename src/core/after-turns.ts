/** Calls `act` once so many turns of the event loop, at least one, have begun. */
export function afterTurns(turns: number, act: () => void): void {
  if (turns > 1) setImmediate(afterTurns, turns - 1, act);
  else setImmediate(act);
}
