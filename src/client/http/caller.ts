import { ConnectionLostError, ofKey, UnexpectedAnswerError } from '../errors.js';
import { onAbort } from '../on-abort.js';
import type { Attempt } from '../transport.js';
import { connectionLost, failureOf, quote } from './failure.js';

/** What sends requests: `fetch`, or what does as it does. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>;

/** What the client reads of an answer. */
export interface FetchResponse {
  /** The status of HTTP. */
  readonly status: number;
  /** Those of the answer, by their names in lower case. */
  readonly headers: {
    /** null for one that is not there. */
    get(name: string): string | null;
  };
  /** Reads the whole body. */
  text(): Promise<string>;
}

/** What the client sends, as `fetch` takes it. */
export interface FetchInit {
  /** GET or POST. */
  readonly method: string;
  /** The key, and what the body is. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** Gives the request up. */
  readonly signal: AbortSignal;
  /** A redirect is an answer: the key goes nowhere else. */
  readonly redirect: 'manual';
  /** No cookies. */
  readonly credentials: 'omit';
  /** No answer comes from a cache. */
  readonly cache: 'no-store';
}

/** When a call that has no answer yet asks for the health of a service, and again after each one. */
const LOOK_AFTER_MS = 2_000;
/** How long that may take: on a new connection a busy service lets it wait for up to 5 s. */
const HEALTH_TIMEOUT_MS = 7_000;
/** What `fetch` of Node.js tells of a connection that was accepted and then closed. */
const CLOSED: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** Sends one request after the other, and reads the JSON of the answers. */
export class Caller {
  constructor(
    private readonly base: string,
    private readonly key: string | undefined,
    private readonly fetch: Fetch,
    private readonly isWatched: boolean,
  ) {}

  /** `read` makes the answer of its JSON. */
  get<Answer>(path: string, read: (json: unknown) => Answer): Attempt<Answer> {
    return async (signal) => await this.#send('GET', path, undefined, read, signal);
  }

  post<Answer>(
    operation: string,
    body: string | Uint8Array<ArrayBuffer>,
    read: (json: unknown) => Answer,
  ): Attempt<Answer> {
    const path = `/v1/points/${operation}`;
    return async (signal) => await this.#send('POST', path, body, read, signal);
  }

  /** Ends a call while the service does not even tell its health; answers what ends the watch. */
  #watch(ending: AbortController): () => void {
    const { base, fetch } = this;
    const watch = { isOver: false };
    const look = async (): Promise<void> => {
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), HEALTH_TIMEOUT_MS);
      const request = { method: 'GET', headers: {}, ...REST, signal: late.signal };
      const isAlive = await fetch(`${base}/health`, request)
        .then(async (answer) => await answer.text())
        .then(() => true, wasClosed);
      clearTimeout(timer);
      if (watch.isOver) return;
      if (isAlive) next = setTimeout(look, LOOK_AFTER_MS);
      else ending.abort(new ConnectionLostError('the service has stopped answering'));
    };
    let next = setTimeout(look, LOOK_AFTER_MS);
    return () => {
      watch.isOver = true;
      clearTimeout(next);
    };
  }

  async #send<Answer>(
    method: string,
    path: string,
    body: string | Uint8Array<ArrayBuffer> | undefined,
    read: (json: unknown) => Answer,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { base, key, fetch } = this;
    const headers = {
      ...(key === undefined ? {} : { 'api-key': key }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const ending = new AbortController();
    const stopListening = onAbort(signal, () => ending.abort(signal.reason));
    const stopWatching = this.isWatched ? this.#watch(ending) : undefined;
    let response: FetchResponse;
    let text: string;
    try {
      const asked = { method, headers, ...(body === undefined ? {} : { body }) };
      response = await fetch(`${base}${path}`, { ...asked, ...REST, signal: ending.signal });
      text = await response.text();
    } catch (error) {
      signal.throwIfAborted();
      throw ending.signal.aborted ? ending.signal.reason : connectionLost(error);
    } finally {
      stopListening();
      stopWatching?.();
    }
    if (response.status !== 200) {
      throw ofKey(failureOf(response.status, response.headers, text), this.key);
    }
    return answerOf(text, read);
  }
}

/** A key is for the service alone, and goes nowhere else. */
const REST = { redirect: 'manual', credentials: 'omit', cache: 'no-store' } as const;

/** Whether somebody has closed the connection of a request: a service that has no place for it lives. */
function wasClosed(error: unknown): boolean {
  const { cause } = error instanceof Error ? error : {};
  return cause instanceof Error && 'code' in cause && CLOSED.has(cause.code);
}

function answerOf<Answer>(text: string, read: (json: unknown) => Answer): Answer {
  try {
    return read(JSON.parse(text));
  } catch (cause) {
    const message = `the answer is HTTP 200 and not that of this operation: ${quote(text)}`;
    throw new UnexpectedAnswerError(message, { cause });
  }
}
