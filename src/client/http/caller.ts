import { UnexpectedAnswerError } from '../errors.js';
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

/** Sends one request after the other, and reads the JSON of the answers. */
export class Caller {
  constructor(
    private readonly base: string,
    private readonly key: string | undefined,
    private readonly fetch: Fetch,
  ) {}

  /** `read` makes the answer of its JSON. */
  get<Answer>(path: string, read: (json: unknown) => Answer): Attempt<Answer> {
    return async (signal) => read(await this.#send('GET', path, undefined, signal));
  }

  post<Answer>(
    operation: string,
    body: string | Uint8Array<ArrayBuffer>,
    read: (json: unknown) => Answer,
  ): Attempt<Answer> {
    const path = `/v1/points/${operation}`;
    return async (signal) => read(await this.#send('POST', path, body, signal));
  }

  async #send(
    method: string,
    path: string,
    body: string | Uint8Array<ArrayBuffer> | undefined,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { base, key, fetch } = this;
    const init: FetchInit = {
      method,
      headers: {
        ...(key === undefined ? {} : { 'api-key': key }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
      signal,
      // A key is for the service alone, and goes nowhere else.
      redirect: 'manual',
      credentials: 'omit',
      cache: 'no-store',
    };
    let response: FetchResponse;
    let text: string;
    try {
      response = await fetch(`${base}${path}`, init);
      text = await response.text();
    } catch (error) {
      signal.throwIfAborted();
      throw connectionLost(error);
    }
    if (response.status !== 200) throw failureOf(response.status, response.headers, text);
    return parsed(text);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const message = `the answer is HTTP 200 and no JSON: ${quote(text)}`;
    throw new UnexpectedAnswerError(message, { cause });
  }
}
