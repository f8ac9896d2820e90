import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  createServer as createGrpcServer,
  ServerError,
  type CallContext,
  type ServiceImplementation,
} from 'nice-grpc';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect, TimeoutError } from '../../src/client/node.js';
import { VectordError } from '../../src/core/errors.js';
import { PointsServiceDefinition } from '../../src/gen/vectord/v1/points.js';
import { statusDetails } from '../../src/grpc/error-details.js';
import { failureOf, id, PROTOCOLS, type Protocol } from './open.js';

const POINT = { id: id(1), vector: [1, 2, 3, 4] };
const UNKNOWN = new VectordError('OUTCOME_UNKNOWN', 'the write may be stored or not');

/** Answers every call as a cluster does that does not know; counts the calls. */
class Unknowing {
  calls = 0;
  address = '';

  static async start(protocol: Protocol): Promise<Unknowing> {
    const service = new Unknowing();
    await (protocol === 'http' ? service.#listenOverHttp() : service.#listenOverGrpc());
    return service;
  }

  async #listenOverHttp(): Promise<void> {
    const { httpStatus, message: detail, code } = UNKNOWN;
    const server = createServer((_, response) => {
      this.calls += 1;
      response.writeHead(httpStatus, { 'content-type': 'application/problem+json' });
      response.end(JSON.stringify({ detail, code }));
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    this.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async #listenOverGrpc(): Promise<void> {
    const { grpcStatus, message } = UNKNOWN;
    const details = Buffer.from(statusDetails(grpcStatus, UNKNOWN) ?? '', 'base64');
    const fail = async (_: unknown, { trailer }: CallContext) => {
      this.calls += 1;
      trailer.set('grpc-status-details-bin', details);
      return await Promise.reject(new ServerError(grpcStatus, message));
    };
    const names = Object.keys(PointsServiceDefinition.methods);
    const methods = Object.fromEntries(names.map((name) => [name, fail]));
    const server = createGrpcServer();
    type Service = ServiceImplementation<typeof PointsServiceDefinition>;
    server.add(PointsServiceDefinition, methods as unknown as Service);
    const port = await server.listen('127.0.0.1:0');
    onTestFinished(async () => await server.shutdown());
    this.address = `grpc://127.0.0.1:${port}`;
  }
}

describe.each(PROTOCOLS)('an outcome that is not known, over %s', (protocol) => {
  async function begin() {
    const service = await Unknowing.start(protocol);
    const client = connect(service.address, { retries: { attempts: 3, baseMs: 1 } });
    onTestFinished(() => client.close());
    return { service, client };
  }

  test('is a TimeoutError, after repeats where the same write may be done twice', async () => {
    const { service, client } = await begin();
    const failure = await failureOf(client.upsert([POINT]));
    expect(failure).toBeInstanceOf(TimeoutError);
    expect(failure).toMatchObject({ code: 'TIMEOUT', message: UNKNOWN.message, retryable: true });
    expect(service.calls).toBe(3);
  });

  test('is one of a delete at once', async () => {
    const { service, client } = await begin();
    expect(await failureOf(client.delete([id(1)]))).toBeInstanceOf(TimeoutError);
    expect(service.calls).toBe(1);
  });
});
