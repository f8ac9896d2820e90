import type { Metadata, ServerInterceptingCall, ServerInterceptor } from '@grpc/grpc-js';
import { VectordError } from '../errors.js';
import { VectorDBDefinition } from '../gen/vectordb/vectordb.js';
import { InflightBytes } from '../inflight.js';
import type { Keys } from '../keys.js';
import type { Requests } from '../observe/requests.js';
import type { Rules } from '../rules.js';
import { CallRecord, type Allowance } from './call-record.js';
import { GatedCall } from './gated-call.js';
import { grpcOperations } from './operations.js';
import { arrivedAtMs, hookCall } from './seams.js';

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
const INSERT = pathOf('InsertVector');
const BATCH_METHODS: ReadonlySet<string> = new Set(
  ['InsertVectorsBatch', 'SearchPointsBatch'].map(pathOf),
);

/** What a message may have besides its values and its content: fields, and some that are unknown. */
const MESSAGE_SLACK_BYTES = 64 * 1024;
/** Of a value that is not packed, in a message that says it several times. */
const BYTES_PER_VALUE = 16;

/** Far more than a name in a health or reflection request takes: anyone may send these. */
const MAX_OPEN_CALL_BYTES = 64 * 1024;
/**
 * What all such calls together may take, their answers included. It is no part of the budget of
 * those who have a key, which nobody without one may use up. What a look at the health takes is
 * not counted, so that it is answered whatever others do.
 */
const MAX_OPEN_BYTES = 32 * 1024 * 1024;
const FREE_OPEN_CALL_BYTES = 1024;

/** `Bearer <key>`, which clients with a generic token setting send. */
const BEARER = /^bearer +(.*)$/i;

export interface GateOptions {
  readonly rules: Rules;
  readonly keys: Keys;
  readonly inflight: InflightBytes;
  readonly requests: Requests;
}

/**
 * Stands before every call: key, method and role, in this order, are checked before a byte of the
 * message is read; what arrives is counted, and has to arrive in time.
 */
export function callGate({ rules, keys, inflight, requests }: GateOptions): ServerInterceptor {
  const operationOf = grpcOperations(requests);
  const { maxContentBytes } = rules.limits;
  // A message of one point or one query is read on the loop: a large one would hold up all others.
  const messageBytes = MESSAGE_SLACK_BYTES + rules.dimension * BYTES_PER_VALUE;
  const openAllowance: Allowance = {
    maxBytes: MAX_OPEN_CALL_BYTES,
    freeBytes: FREE_OPEN_CALL_BYTES,
    inflight: new InflightBytes(MAX_OPEN_BYTES),
    countsAnswers: true,
  };
  const readAllowance = { maxBytes: messageBytes, freeBytes: 0, inflight, countsAnswers: true };
  // What has been stored is not to be refused any more, and its request was larger than its answer.
  const writeAllowance = { ...readAllowance, countsAnswers: false };
  const allowanceOf = (path: string): Allowance => {
    const allowance = WRITE_METHODS.has(path) ? writeAllowance : readAllowance;
    if (path === INSERT) return { ...allowance, maxBytes: messageBytes + maxContentBytes };
    // That of a batch is limited by grpc-js, with a text of its own.
    return BATCH_METHODS.has(path) ? { ...allowance, maxBytes: Infinity } : allowance;
  };
  const allowances = new Map([...METHODS].map((path) => [path, allowanceOf(path)]));
  return ({ path }, call) => {
    const isOpen = OPEN_SERVICES.has(path.slice(1, path.lastIndexOf('/')));
    const allowance = isOpen ? openAllowance : (allowances.get(path) ?? readAllowance);
    const record = new CallRecord(operationOf(path), allowance, requests, arrivedAtMs(call));
    hookCall(call, record);
    const check = (metadata: Metadata): VectordError | undefined =>
      isOpen ? undefined : checkAccess(path, metadata, keys);
    const gated = new GatedCall(call, record, check, !isOpen);
    // The type has private members, which nothing but its own class uses.
    return gated as unknown as ServerInterceptingCall;
  };
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

function pathOf(method: string): string {
  return `/${VectorDBDefinition.fullName}/${method}`;
}
