import { credsAuthenticator, type ConnectionOptions } from '@nats-io/transport-node';
import { readFileSync } from 'node:fs';
import type { Config } from '../../config/config.js';
import { messageOf, StartError } from '../../core/start-error.js';

/** What says where the servers are, and who we are to them. */
export type NatsSettings = Pick<Config, 'clusterUrls' | 'clusterCredentials'>;

type Login = Pick<ConnectionOptions, 'user' | 'pass' | 'token' | 'authenticator'>;

/** The servers, without what the URLs say of the user: the client does not take it from there. */
export function serversOf(urls: readonly string[]): string[] {
  return urls.map((text) => {
    const { protocol, host } = new URL(text);
    return `${protocol}//${host}`;
  });
}

/**
 * Who we are: by the file of credentials, or by `user:password@` or `token@` of the URLs. Throws a
 * StartError where these say several things, or the file cannot be read.
 */
export function loginOf({ clusterUrls = [], clusterCredentials: path }: NatsSettings): Login {
  const logins = clusterUrls.map(loginInUrl).filter((login) => login !== undefined);
  const [first = {}, ...others] = logins;
  if (others.some((other) => JSON.stringify(other) !== JSON.stringify(first))) {
    throw new StartError(
      'CLUSTER_URL names several NATS users: give each URL the same, or one of them',
    );
  }
  if (path === undefined) return first;
  if (logins.length > 0) {
    throw new StartError(
      'CLUSTER_URL names a NATS user, and CLUSTER_CREDENTIALS is set: leave one of them out',
    );
  }
  try {
    return { authenticator: credsAuthenticator(readFileSync(path)) };
  } catch (error) {
    throw new StartError(
      `the file ${path} (CLUSTER_CREDENTIALS) cannot be read: ${messageOf(error)}`,
    );
  }
}

function loginInUrl(text: string): Login | undefined {
  const url = new URL(text);
  const [user, pass] = [url.username, url.password].map(decodeURIComponent) as [string, string];
  if (user === '') return undefined;
  return url.password === '' ? { token: user } : { user, pass };
}
