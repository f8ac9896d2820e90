import { HealthDefinition } from '../gen/grpc/health/v1/health.js';
import { PointsServiceDefinition } from '../gen/vectord/v1/points.js';
import { VectorDBDefinition } from '../gen/vectordb/vectordb.js';
import type { MemoryBudget } from '../admission/memory-budget.js';
import type { Role } from '../auth/keys.js';
import type { Operation, Requests } from '../observe/requests.js';
import type { Rules } from '../core/rules.js';

/** What a message may have besides its values and its content: fields, and some that are unknown. */
const MESSAGE_SLACK_BYTES = 64 * 1024;
/** Of a value that is not packed, in a message that says it several times. */
const BYTES_PER_VALUE = 16;

/** Some twenty times what an id takes. */
const MAX_ID_MESSAGE_BYTES = 1024;

/** Some more than a filter takes whose JSON is as long as is allowed, 1 MiB. */
const MAX_FILTER_MESSAGE_BYTES = 2 * 1024 * 1024;

/** Far more than a name in a health or reflection request takes: anyone may send these. */
const MAX_OPEN_CALL_BYTES = 4 * 1024;
/** So much is not counted, so that a look at the health is answered whatever others do. */
const FREE_OPEN_CALL_BYTES = 1024;

/** What a call of one kind may take. */
export interface Allowance {
  /** The most that its messages may have in all. */
  readonly maxBytes: number;
  /** The settings that it follows from. */
  readonly settings: string;
  /** What takes nothing of the budget. */
  readonly freeBytes: number;
  /** The budget of all calls of this kind. */
  readonly inflight: MemoryBudget;
  /** Whether answers take of it, too, until they have been read. */
  readonly countsAnswers: boolean;
}

/** What a method is before a call of it has begun. */
export interface Method {
  /** Who may call it: anyone without a key, or the holder of a key, who may at least do this. */
  readonly access: 'anyone' | Role | 'nobody';
  readonly allowance: Allowance;
  readonly operation: Operation;
}

export interface MethodsOptions {
  readonly rules: Rules;
  readonly inflight: MemoryBudget;
  /** The budget of calls that are open to everyone. */
  readonly openBudget: MemoryBudget;
  readonly requests: Requests;
}

/** The methods by their paths; all that there are not are one. */
export function grpcMethods({
  rules,
  inflight,
  openBudget,
  requests,
}: MethodsOptions): (path: string) => Method {
  const maxBytes = MESSAGE_SLACK_BYTES + rules.dimension * BYTES_PER_VALUE;
  const settings = ' (by DIMENSION)';
  const reading: Allowance = { maxBytes, settings, freeBytes: 0, inflight, countsAnswers: true };
  // What has been stored is not to be refused any more, and its request was larger than its answer.
  const writing: Allowance = { ...reading, countsAnswers: false };
  const inserting: Allowance = {
    ...writing,
    maxBytes: maxBytes + rules.limits.maxContentBytes,
    settings: ' (by MAX_CONTENT_BYTES and DIMENSION)',
  };
  const open: Allowance = {
    maxBytes: MAX_OPEN_CALL_BYTES,
    settings: '',
    freeBytes: FREE_OPEN_CALL_BYTES,
    inflight: openBudget,
    countsAnswers: true,
  };
  const naming = { maxBytes: MAX_ID_MESSAGE_BYTES, settings: '' };
  const filtering: Allowance = { ...reading, maxBytes: MAX_FILTER_MESSAGE_BYTES, settings: '' };
  // A batch is limited by MAX_REQUEST_BYTES alone.
  const readingBatch: Allowance = { ...reading, maxBytes: Infinity };
  const writingBatch: Allowance = { ...writing, maxBytes: Infinity };

  const methods = new Map<string, Method>();
  const add = (
    service: string,
    name: string,
    access: Method['access'],
    allowance: Allowance,
    isEndless = false,
  ): void => {
    const operation = requests.addOperation({ method: `${service}/${name}` }, isEndless);
    methods.set(`/${service}/${name}`, { access, allowance, operation });
  };
  const { fullName: store, methods: its } = VectorDBDefinition;
  add(store, its.insertVector.name, 'readwrite', inserting);
  add(store, its.insertVectorsBatch.name, 'readwrite', writingBatch);
  add(store, its.deletePoint.name, 'readwrite', { ...writing, ...naming });
  add(store, its.getPoint.name, 'readonly', { ...reading, ...naming });
  add(store, its.searchPoints.name, 'readonly', reading);
  add(store, its.searchPointsBatch.name, 'readonly', readingBatch);
  const { fullName: points, methods: ours } = PointsServiceDefinition;
  add(points, ours.upsert.name, 'readwrite', writingBatch);
  add(points, ours.upsertStream.name, 'readwrite', writingBatch, true);
  add(points, ours.update.name, 'readwrite', writingBatch);
  add(points, ours.delete.name, 'readwrite', writingBatch);
  add(points, ours.get.name, 'readonly', readingBatch);
  add(points, ours.search.name, 'readonly', readingBatch);
  add(points, ours.scroll.name, 'readonly', filtering);
  add(points, ours.scrollStream.name, 'readonly', filtering, true);
  add(points, ours.count.name, 'readonly', filtering);
  add(points, ours.info.name, 'readonly', { ...reading, ...naming });
  const { check, watch } = HealthDefinition.methods;
  add(HealthDefinition.fullName, check.name, 'anyone', open);
  // These last as long as their clients like.
  add(HealthDefinition.fullName, watch.name, 'anyone', open, true);
  for (const version of ['v1', 'v1alpha']) {
    const service = `grpc.reflection.${version}.ServerReflection`;
    add(service, 'ServerReflectionInfo', 'anyone', open, true);
  }
  const operation = requests.addOperation({ method: 'unknown' });
  const unknown: Method = { access: 'nobody', allowance: reading, operation };
  return (path) => methods.get(path) ?? unknown;
}
