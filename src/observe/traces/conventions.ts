import type { RequestOutcome } from '../tracing.js';

/** A span in the words of OpenTelemetry. */
export interface SpanFacts {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string | number | string[]>>;
  /** Whether the service is to blame. */
  readonly isError: boolean;
}

/** What stands for every name that a client made up. */
const OTHER = '_OTHER';

/** Statuses for which the conventions blame a server. */
const GRPC_ERRORS: ReadonlySet<string> = new Set([
  'UNKNOWN',
  'DEADLINE_EXCEEDED',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
]);

/** The span of an HTTP request, by the semantic conventions for HTTP (stable since 1.23). */
export function httpSpan(outcome: RequestOutcome, scheme: string, path: string): SpanFacts {
  const isKnown = outcome.method !== 'other';
  const method = isKnown ? outcome.method : OTHER;
  // A path that is none of ours may hold anything.
  const route = outcome.route === 'none' ? undefined : outcome.route;
  const isError = Number(outcome.status) >= 500;
  return {
    name: [isKnown ? method : 'HTTP', route].filter((part) => part !== undefined).join(' '),
    attributes: {
      'http.request.method': method,
      'http.response.status_code': Number(outcome.status),
      'url.scheme': scheme,
      ...(route === undefined ? {} : { 'http.route': route, 'url.path': path }),
      ...(isError ? { 'error.type': outcome.status } : {}),
      ...ownAttributes(outcome),
    },
    isError,
  };
}

/** The span of a gRPC call, by the semantic conventions for RPC (stable since 1.45). */
export function rpcSpan(outcome: RequestOutcome): SpanFacts {
  const { status } = outcome;
  const isKnown = outcome.method !== 'unknown';
  const isError = GRPC_ERRORS.has(status);
  return {
    name: isKnown ? outcome.method : 'grpc',
    attributes: {
      'rpc.system.name': 'grpc',
      'rpc.method': isKnown ? outcome.method : OTHER,
      'rpc.response.status_code': status,
      ...(isError ? { 'error.type': status } : {}),
      ...ownAttributes(outcome),
    },
    isError,
  };
}

/** What made a request heavy, as the log tells it of slow ones. */
function ownAttributes({ parameters, bytes }: RequestOutcome): SpanFacts['attributes'] {
  const attributes: Record<string, string | number | string[]> = { 'vectord.bytes': bytes };
  for (const [name, value] of Object.entries(parameters)) {
    attributes[`vectord.${name}`] = typeof value === 'object' ? [...value] : value;
  }
  return attributes;
}
