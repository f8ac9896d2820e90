import { status } from '@grpc/grpc-js';
import { Metadata, type CallContext } from 'nice-grpc';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { makeTemporaryFolder } from '../../test/support/folders.js';
import { Decoder } from '../wire/decoder.js';
import { DecoderThread } from '../wire/decoder-thread.js';
import { MemoryBudget } from '../admission/memory-budget.js';
import { Engine } from '../engine/native.js';
import { Requests } from '../observe/requests.js';
import { Service } from '../core/service.js';
import { CallLifecycle } from './call-lifecycle.js';
import { vectorDbHandlers } from './handlers.js';
import { REQUEST_ID } from './server-error.js';

const RULES = {
  dimension: 4,
  limits: {
    maxRequestBytes: 1_000,
    maxBatch: 10,
    maxContentBytes: 100,
    maxSearchWork: 1_000,
    maxInflightBytes: 1_000,
    maxFilterIndexBytes: 1_000,
  },
  defaultEf: 100,
};

test('a fault of the service is INTERNAL: the client gets an id, the log the reason', async () => {
  const path = makeTemporaryFolder();
  const engine = await Engine.open({
    path,
    dimension: 4,
    hnswM: 16,
    hnswEfConstruction: 100,
    warmMetrics: [],
    graphIdleSeconds: 0,
    segmentBytes: 1 << 20,
    maxInflightBytes: 1 << 20,
    maxFilterIndexBytes: 1 << 30,
  });
  const service = new Service(engine, RULES);
  const lines: string[] = [];
  const logger = pino({}, { write: (line) => lines.push(line) });
  const requests = new Requests({
    protocol: 'grpc',
    logger,
    slowRequestMs: 0,
    nameOf: (code) => status[code] ?? code,
  });
  const method = 'vectordb.VectorDB/GetPoint';
  const inflight = new MemoryBudget(1_000);
  const allowance = { maxBytes: 1_000, settings: '', freeBytes: 0, inflight, countsAnswers: true };
  const operation = requests.addOperation({ method });
  const called = { access: 'readonly', allowance, operation } as const;
  const record = new CallLifecycle(called, undefined, requests, none, undefined, none);
  const handlers = vectorDbHandlers(service, new Decoder(RULES, new DecoderThread(RULES)));
  const trailer = Metadata();

  // What the codec hands over when there is no memory to decode a request into.
  const fault = new RangeError('Array buffer allocation failed');
  const failure: unknown = await handlers
    .getPoint(fault, { trailer } as CallContext)
    .catch((error: unknown) => error);
  const requestId = trailer.get(REQUEST_ID) ?? '';
  expect(failure).toMatchObject({
    code: status.INTERNAL,
    details: `Internal server error (request ${requestId})`,
  });
  const trailers = { [REQUEST_ID]: [requestId] };
  record.answered(status.INTERNAL, trailers, failure);
  expect(trailers[REQUEST_ID]).toEqual(requestId);
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    level: 50,
    requestId,
    interface: 'grpc',
    method,
    status: 'INTERNAL',
    err: { message: fault.message },
  });
  engine.close();
});

function none(): undefined {
  return undefined;
}
