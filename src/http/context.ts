import type { RouterContext } from '@koa/router';
import type { Reservation } from '../admission/memory-budget.js';
import type { Role } from '../auth/keys.js';

/** What the steps of one request hand on to each other. */
export interface RequestState {
  requestId: string;
  /** The pattern of the route that matched, for the log. */
  route: string;
  /** The role of the key that came with the request, once it has been checked. */
  role: Role | undefined;
  /** The size of its body, once it has been read. */
  bodyBytes?: number;
  /** What the request asks for, once its body has been read. */
  asked?: object;
  /** What the request has taken of the common budget, once it has taken anything. */
  reservation?: Reservation;
}

export type Context = RouterContext<RequestState>;
