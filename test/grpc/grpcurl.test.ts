import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { findGrpcurl } from '../support/tools.mjs';

const grpcurl = findGrpcurl();
const PROTO_FOLDER = fileURLToPath(new URL('../../proto', import.meta.url));
const FROM_PROTO = ['-import-path', PROTO_FOLDER, '-proto', 'vectordb/vectordb.proto'];
const NO_POINT = '{"id":{"value":"00000000-0000-4000-8000-000000000000"}}';
const POINT = { vector: { values: [1, 2, 3] }, payload: { contentType: 'Text', content: 'é' } };

describe.skipIf(grpcurl === undefined)('grpcurl', () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startServer({ dimension: 3, env: { SLOW_REQUEST_MS: '0' } });
  });

  afterAll(async () => {
    expect(server.log()).not.toMatch(/"level":"(warn|error|fatal)"|Warning/);
  });

  /** Runs grpcurl: options, then `verb` or a method with its request in JSON. */
  async function run(options: readonly string[], ...verb: string[]): Promise<string> {
    return await runWith('', options, ...verb);
  }

  async function runWith(input: string, options: readonly string[], ...verb: string[]) {
    const args = ['-plaintext', ...options, server.grpc, ...verb];
    const child = spawn(grpcurl ?? '', args, { stdio: 'pipe' });
    child.stdin.end(input);
    const [output, faults] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      child.exitCode ?? once(child, 'close'),
    ]);
    return output + faults;
  }

  async function call(
    method: string,
    request: unknown,
    options: readonly string[] = [],
  ): Promise<unknown> {
    const key = ['-H', `authorization: ${server.keys.readwrite}`];
    const data = ['-d', JSON.stringify(request)];
    return JSON.parse(await run([...key, ...data, ...options], `vectordb.VectorDB/${method}`));
  }

  test('lists the services by reflection, without a key', async () => {
    expect(await run([], 'list')).toBe(
      'grpc.health.v1.Health\nvectord.v1.PointsService\nvectordb.VectorDB\n',
    );
  });

  test('describes every method of the contract by reflection', async () => {
    const described = await run([], 'describe', 'vectordb.VectorDB');
    for (const method of [
      'InsertVector ( .vectordb.InsertVectorRequest ) returns ( .vectordb.PointID )',
      'DeletePoint ( .vectordb.PointID ) returns ( .google.protobuf.Empty )',
      'GetPoint ( .vectordb.PointID ) returns ( .vectordb.Point )',
      'SearchPoints ( .vectordb.SearchRequest ) returns ( .vectordb.SearchResponse )',
    ]) {
      expect(described).toContain(method);
    }
    expect(await run([], 'describe', 'grpc.health.v1.Health')).toContain('rpc Check');
    expect(await run([], 'describe', '.google.protobuf.Empty')).toContain('message Empty');
  });

  test.each([
    ['by reflection', []],
    ['with the published proto file', FROM_PROTO],
  ])('inserts, gets, searches and deletes %s', async (_, options) => {
    const inserted = await call('InsertVector', POINT, options);
    const found = await call('GetPoint', inserted, options);
    expect(found).toEqual({ ...POINT, id: inserted });
    const query = { queryVector: POINT.vector, similarity: 'Cosine', limit: 5 };
    const results = { resultPointIds: [inserted] };
    expect(await call('SearchPoints', query, options)).toEqual(results);
    expect(await call('SearchPointsBatch', { queries: [query] }, options)).toEqual({
      results: [results],
    });
    expect(await call('DeletePoint', inserted, options)).toEqual({});
    const batch = await call('InsertVectorsBatch', { vectors: [POINT] }, options);
    const [id] = (batch as { ids: unknown[] }).ids;
    await call('DeletePoint', id, options);
  });

  test('shows the status of a refusal', async () => {
    const noKey = await run(['-d', NO_POINT], 'vectordb.VectorDB/GetPoint');
    expect(noKey).toContain('Code: Unauthenticated');
    const key = ['-H', `authorization: Bearer ${server.keys.readonly}`, '-d', NO_POINT];
    expect(await run(key, 'vectordb.VectorDB/DeletePoint')).toContain('Code: PermissionDenied');
    const missing = await run(key, 'vectordb.VectorDB/GetPoint');
    expect(missing).toContain('Code: NotFound');
    expect(missing).toContain('Message: Point not found');
  });

  test('shows a message with percent signs and characters of many scripts', async () => {
    const value = '100 % größer, %41 ✓ 中文 😀';
    const key = ['-H', `authorization: ${server.keys.readonly}`];
    const data = ['-d', JSON.stringify({ id: { value } })];
    const shown = await run([...key, ...data], 'vectordb.VectorDB/GetPoint');
    expect(shown).toContain(`Message: id is "${value}", expected a UUID`);
  });

  test('sends binary metadata, and the longest deadline that it has', async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const trace = ['-H', `x-trace-bin: ${bytes.toString('base64')}`, '-max-time', '9e9'];
    const query = { queryVector: POINT.vector, limit: 1 };
    expect(await call('SearchPoints', query, trace)).toEqual({});
  });

  test('shows that a deadline has passed', async () => {
    const request = ['-max-time', '0.3', '-d', '{"service":"vectordb.VectorDB"}'];
    const shown = await run(request, 'grpc.health.v1.Health/Watch');
    expect(shown).toContain('"SERVING"');
    expect(shown).toContain('Code: DeadlineExceeded');
  });

  test('sends a batch of several MiB', async () => {
    const content = 'é'.repeat(16_384);
    const point = { ...POINT, payload: { ...POINT.payload, content } };
    const input = JSON.stringify({ vectors: Array.from({ length: 150 }, () => point) });
    const options = ['-H', `authorization: ${server.keys.readwrite}`, '-d', '@'];
    const inserted = await runWith(input, options, 'vectordb.VectorDB/InsertVectorsBatch');
    expect((JSON.parse(inserted) as { ids: unknown[] }).ids.length).toBe(150);
  });

  test('asks for the health of the service, without a key', async () => {
    const request = ['-d', '{"service":"vectordb.VectorDB"}'];
    expect(await run(request, 'grpc.health.v1.Health/Check')).toContain('"SERVING"');
  });
});
