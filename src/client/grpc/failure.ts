import { ClientError, Status as Code, type Metadata } from 'nice-grpc';
import { ErrorInfo, RetryInfo } from '../../gen/google/rpc/error_details.js';
import { Status } from '../../gen/google/rpc/status.js';
import { ConnectionLostError, errorOf, VectordError, type ErrorCode } from '../errors.js';
import { plainReason } from '../plain-reason.js';
import type { Proxy } from './proxy.js';

/** The codes that a status tells by itself, whoever has answered it. */
const CODES: ReadonlyMap<Code, ErrorCode> = new Map([
  [Code.INVALID_ARGUMENT, 'INVALID_ARGUMENT'],
  [Code.UNAUTHENTICATED, 'UNAUTHENTICATED'],
  [Code.PERMISSION_DENIED, 'PERMISSION_DENIED'],
  [Code.NOT_FOUND, 'NOT_FOUND'],
  [Code.FAILED_PRECONDITION, 'CONFLICT'],
  [Code.DEADLINE_EXCEEDED, 'TIMEOUT'],
]);

/** Statuses that the library gives a call whose connection breaks, or is never made. */
const OF_CONNECTION: ReadonlySet<Code> = new Set([
  Code.UNAVAILABLE,
  Code.INTERNAL,
  Code.UNKNOWN,
  Code.CANCELLED,
  Code.RESOURCE_EXHAUSTED,
]);

/** What the library says of a call for which it had no connection. */
const NEVER_CONNECTED = /^(?:No connection established\. |Name resolution failed for target )/;

/** Other names than the codes have. */
const REASONS: ReadonlyMap<string, ErrorCode> = new Map([['REQUEST_TOO_LARGE', 'TOO_LARGE']]);

const DOMAIN = 'vectord';

/** The failure of a call with this trailing metadata, if any has come, by way of this proxy. */
export function failureOf(
  error: unknown,
  trailer: Metadata | undefined,
  proxy: Proxy | undefined,
): unknown {
  if (error instanceof VectordError) return error;
  if (!(error instanceof ClientError))
    return new ConnectionLostError(String(error), { cause: error });
  const { code: status, details: message } = error;
  const requestId = trailer?.get('x-request-id');
  const { reason, retryAfterMs } = detailsIn(trailer);
  const details = { cause: error, requestId, retryAfterMs };
  if (reason !== undefined) return errorOf(REASONS.get(reason) ?? reason, message, details);
  const code = CODES.get(status);
  if (code !== undefined) return errorOf(code, message, details);
  if (requestId !== undefined && status === Code.INTERNAL) {
    return errorOf('INTERNAL', message, details);
  }
  if (OF_CONNECTION.has(status)) {
    const why = plainReason(systemReason(message));
    const text = `no answer came from the service: ${why}${wayOf(proxy)}`;
    const isUnsent = requestId === undefined && NEVER_CONNECTED.test(message);
    return new ConnectionLostError(text, { ...details, isUnsent });
  }
  const text = `the answer is ${Code[status]} and none of vectord.v1: ${message}`;
  return errorOf('UNEXPECTED_ANSWER', text, details);
}

function wayOf(proxy: Proxy | undefined): string {
  if (proxy === undefined) return '';
  const { address, variable } = proxy;
  return ` (through the proxy ${address}, which ${variable} names; no_proxy names hosts that are reached without it)`;
}

/** Of a connection that was not made, what the system said, without what the library says around it. */
function systemReason(message: string): string {
  return (
    message
      .replace(
        /^No connection established\. Last error: (?:Error: )?(.+)\. Resolution note: .*$/s,
        '$1',
      )
      // With the time of the attempt.
      .replace(/ \(\d{4}-[^()]+Z\)$/, '')
      .replace(/^Failed to connect$/, 'the connection was closed at once')
      // What it says where a proxy refuses.
      .replace(/^undefined$/, 'no connection was made')
      .replace(/^Name resolution failed for target (?:dns:)?/, 'there is no address of ')
  );
}

/** What the service tells of a failure besides its status. */
function detailsIn(trailer: Metadata | undefined): {
  readonly reason?: string;
  readonly retryAfterMs?: number;
} {
  const bytes = trailer?.get('grpc-status-details-bin');
  if (bytes === undefined || bytes.length === 0) return {};
  const found: { reason?: string; retryAfterMs?: number } = {};
  for (const { typeUrl, value } of Status.decode(bytes).details) {
    if (typeUrl.endsWith('/google.rpc.ErrorInfo')) {
      const { domain, reason } = ErrorInfo.decode(value);
      if (domain === DOMAIN) found.reason = reason;
    } else if (typeUrl.endsWith('/google.rpc.RetryInfo')) {
      const { retryDelay } = RetryInfo.decode(value);
      if (retryDelay === undefined) continue;
      found.retryAfterMs = Number(retryDelay.seconds) * 1_000 + retryDelay.nanos / 1_000_000;
    }
  }
  return found;
}
