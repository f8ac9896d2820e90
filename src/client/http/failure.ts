import {
  ConnectionLostError,
  errorOf,
  UnexpectedAnswerError,
  type ErrorDetails,
  type VectordError,
} from '../errors.js';
import { plainReason } from '../plain-reason.js';

/** The codes of answers that are no problem of `/v1`: the service refuses these before it routes. */
const CODES: ReadonlyMap<number, string> = new Map([
  [400, 'INVALID_ARGUMENT'],
  [401, 'UNAUTHENTICATED'],
  [403, 'PERMISSION_DENIED'],
  [408, 'TIMEOUT'],
  [413, 'TOO_LARGE'],
  [431, 'INVALID_ARGUMENT'],
]);

/** What `fetch` of Node.js calls of the system before there is a connection. */
const CONNECTING: ReadonlySet<unknown> = new Set(['connect', 'getaddrinfo']);

const LONGEST_QUOTE = 200;

/** The failure that an answer tells of whose status is not 200. */
export function failureOf(
  status: number,
  headers: { get(name: string): string | null },
  body: string,
): VectordError {
  const details = {
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterMs: retryAfterMs(headers.get('retry-after')),
  };
  const problem = problemOf(headers.get('content-type'), body);
  if (problem !== undefined) return errorOf(problem.code, problem.detail, details);
  const code = CODES.get(status);
  if (code !== undefined) return errorOf(code, body, details);
  return strange(status, body, details);
}

/** Who does not answer as vectord does is a proxy before it, or something else altogether. */
function strange(status: number, body: string, details: ErrorDetails): VectordError {
  const message = `the answer is HTTP ${status} and none of vectord: ${quote(body)}`;
  if (status >= 500) return new ConnectionLostError(message, details);
  return new UnexpectedAnswerError(message, details);
}

/** What is thrown where no answer has come, or only a part of it. */
export function connectionLost(error: unknown): ConnectionLostError {
  // fetch says no more than that it failed; its cause tells why.
  const { cause } = error instanceof Error ? error : {};
  const reason = cause instanceof Error && cause.message !== '' ? cause : error;
  const text = reason instanceof Error ? reason.message : String(reason);
  const message = `no answer came from the service: ${plainReason(text)}${inPage()}`;
  return new ConnectionLostError(message, {
    cause: error,
    isUnsent: isUnsent(cause ?? error),
  });
}

/** What a page is told besides: a browser does not say that a service has not let the page in. */
function inPage(): string {
  const { location } = globalThis as { readonly location?: { readonly origin?: unknown } };
  if (typeof location?.origin !== 'string') return '';
  return `; if the service is there, its CORS_ORIGINS has to name ${location.origin}`;
}

/** Whether it tells that no connection was made. Browsers do not tell. */
function isUnsent(reason: unknown): boolean {
  // Of a name with several addresses, it has one error of each.
  if (reason instanceof AggregateError) return reason.errors.every(isUnsent);
  if (!(reason instanceof Error)) return false;
  const { code, syscall } = reason as { readonly code?: unknown; readonly syscall?: unknown };
  return CONNECTING.has(syscall) || code === 'UND_ERR_CONNECT_TIMEOUT';
}

export function quote(body: string): string {
  const start = body.length > LONGEST_QUOTE ? `${body.slice(0, LONGEST_QUOTE)}...` : body;
  return JSON.stringify(start);
}

/** The problem (RFC 9457) that a body tells of. */
function problemOf(
  type: string | null,
  body: string,
): { readonly code: string; readonly detail: string } | undefined {
  if (type?.startsWith('application/problem+json') !== true) return undefined;
  try {
    const { code, detail } = JSON.parse(body) as Readonly<Record<string, unknown>>;
    return typeof code === 'string' ? { code, detail: String(detail) } : undefined;
  } catch {
    return undefined;
  }
}

/** Seconds, or a date. */
function retryAfterMs(header: string | null): number | undefined {
  if (header === null || header === '') return undefined;
  const seconds = Number(header);
  const ms = Number.isNaN(seconds) ? Date.parse(header) - Date.now() : seconds * 1000;
  return ms >= 0 ? ms : undefined;
}
