import type { OnRequestEnd } from '../core/request-end.js';
import type { Answer, ParserName } from '../wire/parsers.js';
import { readBody } from './body.js';
import type { Context } from './context.js';
import type { HttpOptions } from './options.js';
import { onRequestEnd } from './request-end.js';
import { reservationOf } from './reservation.js';

/** Reads what the body of a request holds, by the parser of this name. */
export type ReadRequest = <Name extends ParserName>(
  ctx: Context,
  name: Name,
) => Promise<Answer<Name>>;

export function requestReader(
  options: Pick<HttpOptions, 'service' | 'decoder' | 'inflight' | 'clock'>,
): ReadRequest {
  const { service, decoder, inflight, clock } = options;
  return async (ctx, name) => {
    const body = await readBody(ctx, service.rules.limits, inflight, clock);
    const bodyBytes = body.length;
    ctx.state.bodyBytes = bodyBytes;
    const asked = await decoder.decode(name, body, endOf(ctx));
    ctx.state.asked = asked;
    reservationOf(ctx, inflight).takeArrays(asked, bodyBytes);
    return asked;
  };
}

export function endOf(ctx: Context): OnRequestEnd {
  return (listener) => onRequestEnd(ctx.res, listener);
}
