import type { IncomingMessage } from 'node:http';
import { VectordError } from '../core/errors.js';
import type { Keys, Role } from '../auth/keys.js';
import { noteKey } from './connections.js';

/** Who may use a route: anyone, any key, or a readwrite key. */
export type Access = 'open' | Role;

/** What clients of gRPC and of other services take for granted. */
const ELSEWHERE = ': HTTP takes the key there, and not in authorization';

/** The role of the key in the `api-key` header, which must be there exactly once. */
export function authenticate(request: IncomingMessage, keys: Keys): Role {
  const { authorization, 'api-key': key } = request.headers;
  if (typeof key !== 'string') {
    const advice = authorization === undefined ? '' : ELSEWHERE;
    throw unauthenticated(`The api-key header is missing${advice}`);
  }
  // Node makes one text of several, with commas between them, and a key may hold a comma.
  if (key.includes(',') && request.headersDistinct['api-key']?.length !== 1) {
    throw unauthenticated('The api-key header is given more than once');
  }
  return roleOf(request, key, keys);
}

function roleOf(request: IncomingMessage, key: string, keys: Keys): Role {
  const found = keys.lookup(key);
  if (found === undefined) throw unauthenticated('The API key is not known');
  noteKey(request.socket);
  return found.role;
}

/** `Bearer <key>`: what Prometheus and its like can be told to send. */
const BEARER = /^bearer +(.*)$/i;

/** The same of a scraper, whose key may be in the `authorization` header instead: once in all. */
export function authenticateScraper(request: IncomingMessage, keys: Keys): Role {
  const { authorization, 'api-key': apiKey } = request.headersDistinct;
  if (authorization === undefined) return authenticate(request, keys);
  if (apiKey !== undefined || authorization.length > 1) {
    throw unauthenticated('The key is given more than once');
  }
  const [text = ''] = authorization;
  return roleOf(request, BEARER.exec(text)?.[1] ?? text, keys);
}

/** Refuses a request whose key, if it has any, does not open the route. */
export function authorize(role: Role | undefined, access: Access): void {
  if (access === 'open') return;
  if (role === undefined) throw unauthenticated('An API key is required');
  if (access === 'readwrite' && role !== 'readwrite') {
    throw new VectordError('PERMISSION_DENIED', `A ${role} key may not do this`);
  }
}

function unauthenticated(message: string): VectordError {
  return new VectordError('UNAUTHENTICATED', message);
}
