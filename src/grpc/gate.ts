import {
  ServerInterceptingCall,
  type Metadata,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import { VectordError } from '../errors.js';
import { VectorDBDefinition } from '../gen/vectordb/vectordb.js';
import type { InflightBytes } from '../inflight.js';
import type { Keys } from '../keys.js';
import type { Requests } from '../observe/requests.js';
import { CallRecord } from './call-record.js';
import { LargeIds } from './large-ids.js';
import { grpcOperations } from './operations.js';
import { hookCall, toStatus } from './seams.js';

/** Services that carry no data of the store. Every other one needs a key. */
const OPEN_SERVICES: ReadonlySet<string> = new Set([
  'grpc.health.v1.Health',
  'grpc.reflection.v1.ServerReflection',
  'grpc.reflection.v1alpha.ServerReflection',
]);

const METHODS: ReadonlySet<string> = new Set(
  Object.values(VectorDBDefinition.methods).map(({ name }) => pathOf(name)),
);
const WRITE_METHODS: ReadonlySet<string> = new Set(
  ['InsertVector', 'InsertVectorsBatch', 'DeletePoint'].map(pathOf),
);

/** Far more than a name in a health or reflection request takes: anyone may send these. */
const MAX_OPEN_CALL_BYTES = 64 * 1024;

/** Long enough for the largest request over a slow line, and an end to one that trickles. */
const REQUEST_TIMEOUT_MS = 300_000;

/** `Bearer <key>`, which clients with a generic token setting send. */
const BEARER = /^bearer +(.*)$/i;

export interface GateOptions {
  readonly keys: Keys;
  readonly inflight: InflightBytes;
  readonly requests: Requests;
}

/**
 * Stands before every call: key, method and role, in this order, are checked before a byte of the
 * message is read; what arrives is counted, and has to arrive in time.
 */
export function callGate({ keys, inflight, requests }: GateOptions): ServerInterceptor {
  const operationOf = grpcOperations(requests);
  return ({ path }, call) => {
    const isOpen = OPEN_SERVICES.has(path.slice(1, path.lastIndexOf('/')));
    const maxBytes = isOpen ? MAX_OPEN_CALL_BYTES : Infinity;
    const record = new CallRecord(operationOf(path), maxBytes, inflight, requests);
    hookCall(call, record);
    let timer: NodeJS.Timeout | undefined;
    return new ServerInterceptingCall(call, {
      start(next) {
        next({
          onReceiveMetadata(metadata, proceed) {
            const refusal = isOpen ? undefined : checkAccess(path, metadata, keys);
            if (refusal !== undefined) {
              refuse(call, refusal);
              return;
            }
            timer = setTimeout(() => refuse(call, requestTimedOut()), REQUEST_TIMEOUT_MS).unref();
            proceed(metadata);
          },
          onReceiveMessage(message: object, proceed) {
            record.message = message;
            proceed(message);
          },
          onReceiveHalfClose(proceed) {
            clearTimeout(timer);
            proceed();
          },
          // Comes at the end of every call, whichever way it ends.
          onCancel() {
            clearTimeout(timer);
            record.end();
          },
        });
      },
      sendMessage(message: unknown, next) {
        if (!(message instanceof LargeIds)) {
          next(message);
          return;
        }
        void sendLarge(message, record, call, next);
      },
    });
  };
}

/**
 * A small query may ask for the ids of all points: they count until the call has ended. Of one
 * that ends before they are encoded, nothing is sent any more.
 */
async function sendLarge(
  message: LargeIds,
  record: CallRecord,
  call: ServerInterceptingCallInterface,
  send: (message: LargeIds) => void,
): Promise<void> {
  if (record.hasEnded) return;
  try {
    record.take(message.byteLength);
    await message.encode(() => !record.hasEnded);
    if (!record.hasEnded) send(message);
  } catch (error) {
    record.fail(error);
    call.sendStatus(toStatus(error));
  }
}

/** Why this call may not be made, if it may not. */
function checkAccess(path: string, metadata: Metadata, keys: Keys): VectordError | undefined {
  const values = metadata.get('authorization');
  const [value] = values;
  if (value === undefined) return unauthenticated('The authorization metadata is missing');
  if (values.length > 1) {
    return unauthenticated('The authorization metadata is given more than once');
  }
  const text = value.toString();
  const holder = keys.lookup(BEARER.exec(text)?.[1] ?? text);
  if (holder === undefined) return unauthenticated('The API key is not known');
  if (!METHODS.has(path)) {
    return new VectordError('METHOD_NOT_ALLOWED', `There is no method ${path}`);
  }
  if (WRITE_METHODS.has(path) && holder.role !== 'readwrite') {
    return new VectordError('PERMISSION_DENIED', `A ${holder.role} key may not do this`);
  }
  return undefined;
}

function unauthenticated(message: string): VectordError {
  return new VectordError('UNAUTHENTICATED', message);
}

function requestTimedOut(): VectordError {
  const seconds = REQUEST_TIMEOUT_MS / 1000;
  return new VectordError('TIMEOUT', `The request did not arrive within ${seconds} seconds`);
}

function refuse(call: ServerInterceptingCallInterface, refusal: VectordError): void {
  call.sendStatus({ code: refusal.grpcStatus, details: refusal.message });
}

function pathOf(method: string): string {
  return `/${VectorDBDefinition.fullName}/${method}`;
}
