import type { IncomingHttpHeaders, ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { MemoryBudget } from '../admission/memory-budget.js';
import type { KeyHolder, Keys, Role } from '../auth/keys.js';
import { VectordError } from '../core/errors.js';
import type { Rules } from '../core/rules.js';
import type { Requests } from '../observe/requests.js';
import { CallLifecycle } from './call-lifecycle.js';
import type { Connection, Connections } from './connections.js';
import { grpcMethods, type Method } from './methods.js';
import type { ConnectionPolicy, Policy } from './transport/policy.js';

const AUTHORIZATION = 'authorization';

/** `Bearer <key>`, which clients with a generic token setting send. */
const BEARER = /^bearer +(.*)$/i;

export interface AccessControlOptions {
  readonly rules: Rules;
  readonly keys: Keys;
  readonly inflight: MemoryBudget;
  readonly openBudget: MemoryBudget;
  readonly requests: Requests;
  readonly connections: Connections;
}

/** Stands before every call: method, key and role are checked before a byte of the message is read. */
export class AccessControl implements Policy {
  readonly #methodOf: (path: string) => Method;

  constructor(private readonly options: AccessControlOptions) {
    this.#methodOf = grpcMethods(options);
  }

  connect(session: ServerHttp2Session, socket: Socket): ConnectionPolicy {
    const connection = this.options.connections.add(session, socket);
    const onEnd = (call: CallLifecycle): void => connection.end(call);
    return {
      get isClosing() {
        return connection.isClosing;
      },
      noteReset: (unsentBytes) => connection.noteReset(unsentBytes),
      noteCutShort: () => connection.noteCutShort(),
      begin: (path, headers, rawHeaders) => {
        const method = this.#methodOf(path);
        const keyRefusal = (): VectordError | undefined =>
          this.#keyRefusalOf(method, headers, rawHeaders);
        const refusedKey = keyRefusal();
        const refusal = this.#placeRefusalOf(connection, method, path) ?? refusedKey;
        const { requests } = this.options;
        const trace = requests.beginTrace(headers, path);
        const call = new CallLifecycle(method, refusal, requests, onEnd, trace, keyRefusal);
        // A key that may not do this, or not now, is known nevertheless.
        const showsKey = isRole(method.access) && refusedKey?.code !== 'UNAUTHENTICATED';
        connection.begin(call, showsKey);
        return call;
      },
    };
  }

  #placeRefusalOf(
    connection: Connection,
    { access }: Method,
    path: string,
  ): VectordError | undefined {
    if (access === 'nobody') {
      return new VectordError('METHOD_NOT_ALLOWED', `There is no method ${path}`);
    }
    if (!connection.mayBegin(access === 'anyone' ? 'open' : 'keyed')) {
      return new VectordError('OVERLOADED', 'too many calls are open; try again');
    }
    return undefined;
  }

  #keyRefusalOf(
    { access }: Method,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
  ): VectordError | undefined {
    return isRole(access)
      ? checkAccess(access, authorizationsIn(headers, rawHeaders), this.options.keys)
      : undefined;
  }
}

function isRole(access: Method['access']): access is Role {
  return access !== 'anyone' && access !== 'nobody';
}

/** Why a call with these authorization headers may not be made, if it may not. */
export function checkAccess(
  access: Role,
  authorizations: readonly string[],
  keys: Keys,
): VectordError | undefined {
  const [authorization] = authorizations;
  if (authorization === undefined) {
    return unauthenticated('The authorization metadata is missing');
  }
  if (authorizations.length > 1) {
    return unauthenticated('The authorization metadata is given more than once');
  }
  const holder = holderOf(authorization, keys);
  if (holder === undefined) return unauthenticated('The API key is not known');
  if (access === 'readwrite' && holder.role !== 'readwrite') {
    return new VectordError('PERMISSION_DENIED', `A ${holder.role} key may not do this`);
  }
  return undefined;
}

/** Of several authorization headers node:http2 keeps the first in `headers`. */
function authorizationsIn(headers: IncomingHttpHeaders, rawHeaders: readonly string[]): string[] {
  const first = rawHeaders.indexOf(AUTHORIZATION);
  const isSeveral = first !== -1 && rawHeaders.includes(AUTHORIZATION, first + 1);
  if (isSeveral) {
    return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1] === AUTHORIZATION);
  }
  const { authorization } = headers;
  return authorization === undefined ? [] : [authorization];
}

function holderOf(authorization: string, keys: Keys): KeyHolder | undefined {
  return keys.lookup(BEARER.exec(authorization)?.[1] ?? authorization);
}

function unauthenticated(message: string): VectordError {
  return new VectordError('UNAUTHENTICATED', message);
}
