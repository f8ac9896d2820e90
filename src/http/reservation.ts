import { Reservation, type MemoryBudget } from '../admission/memory-budget.js';
import type { Context } from './context.js';
import { onRequestEnd } from './request-end.js';

/** What a request, its body and its answer together, takes of the budget until it has ended. */
export function reservationOf({ state, res }: Context, inflight: MemoryBudget): Reservation {
  if (state.reservation !== undefined) return state.reservation;
  const reservation = new Reservation(inflight);
  state.reservation = reservation;
  onRequestEnd(res, () => reservation.end());
  return reservation;
}
