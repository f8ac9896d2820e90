import { status } from '@grpc/grpc-js';
import { Metadata, type CallContext } from 'nice-grpc';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { makeTemporaryFolder } from '../../test/support/server.js';
import { Decoder } from '../decode/decoder.js';
import { Engine } from '../native.js';
import { Service } from '../service.js';
import { vectorDbHandlers } from './handlers.js';

const RULES = {
  dimension: 4,
  limits: {
    maxRequestBytes: 1_000,
    maxBatch: 10,
    maxContentBytes: 100,
    maxSearchWork: 1_000,
    maxInflightBytes: 1_000,
  },
  defaultEf: 100,
};

test('a fault of the service is INTERNAL: the client gets an id, the log the reason', async () => {
  const path = makeTemporaryFolder();
  const engine = Engine.open({
    path,
    dimension: 4,
    hnswM: 16,
    hnswEfConstruction: 100,
    warmMetrics: [],
    segmentBytes: 1 << 20,
    maxInflightBytes: 1 << 20,
  });
  const service = new Service(engine, RULES);
  const lines: string[] = [];
  const handlers = vectorDbHandlers(
    service,
    new Decoder(RULES),
    pino({}, { write: (line) => lines.push(line) }),
  );
  const trailer = Metadata();

  // What the codec hands over when there is no memory to decode a request into.
  const fault = new RangeError('Array buffer allocation failed');
  const answer = handlers.getPoint(fault, { trailer } as CallContext);
  await expect(answer).rejects.toMatchObject({
    code: status.INTERNAL,
    details: `Internal server error (request ${trailer.get('x-request-id')})`,
  });
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    requestId: trailer.get('x-request-id'),
    err: { message: fault.message },
  });
  engine.close();
});
