import type {
  Metadata,
  ServerInterceptingCall,
  ServerInterceptingCallInterface,
  ServerInterceptor,
} from '@grpc/grpc-js';
import { VectordError } from '../core/errors.js';
import type { MemoryBudget } from '../admission/memory-budget.js';
import type { KeyHolder, Keys } from '../auth/keys.js';
import type { Requests } from '../observe/requests.js';
import type { Rules } from '../core/rules.js';
import { CallRecord } from './call-record.js';
import { GatedCall } from './gated-call.js';
import { grpcMethods, type Method } from './methods.js';
import { arrivedAtMs, hookCall, noteKey, toStatus, type CallStatus } from './seams.js';

/** `Bearer <key>`, which clients with a generic token setting send. */
const BEARER = /^bearer +(.*)$/i;

export interface GateOptions {
  readonly rules: Rules;
  readonly keys: Keys;
  readonly inflight: MemoryBudget;
  readonly requests: Requests;
}

export interface CallGate {
  /**
   * Stands before every call: key, method and role, in this order, are checked before a byte of the
   * message is read; what arrives is counted, and has to arrive in time.
   */
  readonly interceptor: ServerInterceptor;
  /** Whether an authorization header says a key of the service. */
  knows(authorization: string): boolean;
  /** Notes a call of this path that is one too many; says what to answer. */
  refuse(path: string): CallStatus;
}

export function callGate(options: GateOptions): CallGate {
  const { keys, requests } = options;
  const methodOf = grpcMethods(options);
  const interceptor: ServerInterceptor = ({ path }, call) => {
    const { access, allowance, operation } = methodOf(path);
    const record = new CallRecord(operation, allowance, requests, arrivedAtMs(call));
    hookCall(call, record);
    const isOpen = access === 'anyone';
    const check = (metadata: Metadata): VectordError | undefined =>
      isOpen ? undefined : checkAccess(call, access, path, metadata, keys);
    const gated = new GatedCall(call, record, check, !isOpen);
    // The type has private members, which nothing but its own class uses.
    return gated as unknown as ServerInterceptingCall;
  };
  return {
    interceptor,
    knows: (authorization) => holderOf(authorization, keys) !== undefined,
    refuse(path) {
      const { allowance, operation } = methodOf(path);
      const record = new CallRecord(operation, allowance, requests);
      const refusal = new VectordError('OVERLOADED', 'too many calls are open; try again');
      record.fail(refusal);
      return record.answer(toStatus(refusal));
    },
  };
}

/** Why this call may not be made, if it may not. */
function checkAccess(
  call: ServerInterceptingCallInterface,
  access: Exclude<Method['access'], 'anyone'>,
  path: string,
  metadata: Metadata,
  keys: Keys,
): VectordError | undefined {
  const values = metadata.get('authorization');
  const [value] = values;
  if (value === undefined) return unauthenticated('The authorization metadata is missing');
  if (values.length > 1) {
    return unauthenticated('The authorization metadata is given more than once');
  }
  const holder = holderOf(value.toString(), keys);
  if (holder === undefined) return unauthenticated('The API key is not known');
  noteKey(call);
  if (access === 'nobody') {
    return new VectordError('METHOD_NOT_ALLOWED', `There is no method ${path}`);
  }
  if (access === 'readwrite' && holder.role !== 'readwrite') {
    return new VectordError('PERMISSION_DENIED', `A ${holder.role} key may not do this`);
  }
  return undefined;
}

function holderOf(authorization: string, keys: Keys): KeyHolder | undefined {
  return keys.lookup(BEARER.exec(authorization)?.[1] ?? authorization);
}

function unauthenticated(message: string): VectordError {
  return new VectordError('UNAUTHENTICATED', message);
}
