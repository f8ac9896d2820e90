import { connectHttp } from '../../client/http/connect.js';
import { UnauthenticatedError, VectordError } from '../../client/errors.js';
import type { Client } from '../../client/interface.js';
import type { Info } from '../../client/model.js';
import { plainReason } from '../../client/plain-reason.js';
import { messageOf, StartError } from '../../core/start-error.js';
import { connectionHint } from '../connection-hint.js';
import type { GivenKey } from '../given-key.js';
import { Scrape } from '../../scrape/scrape.js';

/** A service that takes longer for its metrics has gone away, as far as anybody can tell. */
const PATIENCE_MS = 5_000;

const LONGEST_QUOTE = 200;

/** What the service told of itself at one time. */
export interface Look {
  /** Of a clock that only goes forward. */
  readonly atMs: number;
  readonly metrics: Scrape;
  /** Undefined without a key: nobody else is told. */
  readonly info: Info | undefined;
}

/** A service that is looked at by way of its HTTP interface. */
export class WatchedService {
  readonly #client: Client | undefined;

  constructor(
    readonly url: string,
    private readonly key: GivenKey | undefined,
  ) {
    if (key === undefined) return;
    const address = { protocol: 'http', isSecure: url.startsWith('https:'), target: url } as const;
    const calls = { deadlineMs: PATIENCE_MS, retries: { attempts: 1 } };
    this.#client = connectHttp([address], { key: key.text, ...calls });
  }

  /** Throws a StartError that says why there is nothing to see. */
  async look(): Promise<Look> {
    const metrics = new Scrape(await this.#metrics());
    const atMs = performance.now();
    try {
      return { atMs, metrics, info: await this.#client?.info() };
    } catch (error) {
      if (error instanceof UnauthenticatedError) throw this.#refused();
      if (error instanceof VectordError) throw this.#lost(error.message);
      throw error;
    }
  }

  async #metrics(): Promise<string> {
    const { url, key } = this;
    let status: number;
    let text: string;
    try {
      const response = await fetch(`${url}/metrics`, {
        headers: key === undefined ? {} : { 'api-key': key.text },
        // A key is for the service alone, and goes nowhere else.
        redirect: 'manual',
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      ({ status } = response);
      text = await response.text();
    } catch (error) {
      throw this.#lost(reasonOf(error));
    }
    if (status === 401) throw this.#refused();
    if (status !== 200 || !text.includes('vectord_build_info')) {
      const start = JSON.stringify(text.slice(0, LONGEST_QUOTE));
      throw new StartError(`${url}/metrics answers ${status} and is none of vectord: ${start}`);
    }
    return text;
  }

  #lost(reason: string): StartError {
    return new StartError(
      `no answer from ${this.url}: ${reason}${connectionHint(this.url, reason)}`,
    );
  }

  #refused(): StartError {
    const { url, key } = this;
    return new StartError(
      key === undefined
        ? `${url} wants a key: set VECTORD_KEY to one, or name a file that holds one by --key-file`
        : `${url} does not know the key of ${key.origin}`,
    );
  }
}

/** fetch says no more than that it failed; its cause tells why. */
function reasonOf(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  return plainReason(messageOf(cause instanceof Error && cause.message !== '' ? cause : error));
}
