import {
  connect,
  ConnectionLostError,
  UnexpectedAnswerError,
  type Client,
  type Info,
} from '../../client/browser.js';
import { shorten } from '../model/input.js';

/** How long an answer may take before the page says so. */
const DEADLINE_MS = 30_000;

/** Tries of a question that somebody waits for; the live figures are asked for again anyway. */
const ATTEMPTS = 3;

/** Somebody who is signed in. The key is in this object alone, and goes with the page. */
export interface Session {
  readonly client: Client;
  readonly key: string;
  /** What the service was when they signed in. */
  readonly info: Info;
}

/** Fails with the error of the service if it does not know the key. */
export async function signIn(key: string): Promise<Session> {
  const retries = { attempts: ATTEMPTS };
  const client = connect(window.location.origin, { key, deadlineMs: DEADLINE_MS, retries });
  return { client, key, info: await client.info() };
}

/** The metrics as text. The client has no operation for them, as they are not of `/v1`. */
export async function fetchMetrics(key: string, signal: AbortSignal): Promise<string> {
  const response = await ask('/metrics', { 'api-key': key }, signal);
  const text = await response.text();
  if (response.status !== 200) throw strange('/metrics', response.status, text);
  return text;
}

/** Why the service is not ready; nothing if it is. */
export async function fetchFaults(signal: AbortSignal): Promise<readonly string[]> {
  const response = await ask('/ready', {}, signal);
  const text = await response.text();
  if (response.status === 200) return [];
  if (response.status === 503) return text.split('\n');
  throw strange('/ready', response.status, text);
}

function strange(path: string, status: number, text: string): UnexpectedAnswerError {
  return new UnexpectedAnswerError(`${path} answered HTTP ${status}: ${shorten(text, 200)}`);
}

async function ask(path: string, headers: Record<string, string>, signal: AbortSignal) {
  try {
    const common = { credentials: 'omit', cache: 'no-store', redirect: 'error' } as const;
    return await fetch(path, { ...common, headers, signal });
  } catch (cause) {
    signal.throwIfAborted();
    throw new ConnectionLostError(`no answer came to ${path}`, { cause });
  }
}
