import { Reservation, type MemoryBudget } from '../admission/memory-budget.js';
import { bytesOf } from '../core/records.js';
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

/** Has the arrays that a body was read into count, as far as they are larger than it. */
export function reserveArrays(reservation: Reservation, arrays: object, bodyBytes: number): void {
  const bytes = bytesOf(arrays);
  if (bytes > bodyBytes) reservation.take(bytes - bodyBytes);
}
