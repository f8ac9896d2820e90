import { formatVector } from '../engine/json.js';
import { formatPointId, parsePointId, type PointId } from '../core/point-id.js';
import { pointNotFound } from '../core/service.js';
import type { Context } from './context.js';
import { contentTypeName } from '../wire/json/json.js';
import { openapiDocument } from './openapi.js';
import { answerIds, answerJson, answerText } from './reply.js';
import { endOf, requestReader } from './read-request.js';
import { reservationOf } from './reservation.js';
import type { Route } from './router.js';
import { EXPOSITION_TYPE } from '../observe/exposition.js';
import type { HttpOptions } from './options.js';
import { writeIdLists, writeIds, type LargeJson } from '../wire/json/write-ids.js';

/** The routes of the contract and of the service; paths with fixed segments come before those with an id. */
export function routes(options: HttpOptions): readonly Route[] {
  const { service, inflight, metrics, metricsOpen } = options;
  const openapi = openapiDocument(service.rules.dimension);
  const read = requestReader(options);
  /** Answers may be far larger than what asks for them: as long as they are kept, they count. */
  const answerResults = (ctx: Context, json: Buffer | LargeJson): void => {
    reservationOf(ctx, inflight).take(Buffer.isBuffer(json) ? json.length : json.sourceBytes);
    answerIds(ctx, 200, json);
  };

  return [
    {
      method: 'GET',
      path: '/',
      access: 'open',
      handle: (ctx) => answerText(ctx, 200, 'Vector Database server is running!'),
    },
    {
      method: 'GET',
      path: '/health',
      access: 'open',
      handle: (ctx) => answerText(ctx, 200, 'OK'),
    },
    {
      method: 'GET',
      path: '/ready',
      access: 'open',
      handle(ctx) {
        const faults = service.faults();
        if (faults.length === 0) answerText(ctx, 200, 'ready');
        else answerText(ctx, 503, faults.join('\n'));
      },
    },
    {
      method: 'GET',
      path: '/docs/openapi.yaml',
      access: 'open',
      handle(ctx) {
        ctx.set('Content-Type', 'application/yaml');
        ctx.body = openapi;
      },
    },
    {
      method: 'GET',
      path: '/metrics',
      access: metricsOpen ? 'open' : 'readonly',
      async handle(ctx) {
        const text = await metrics();
        ctx.set('Content-Type', EXPOSITION_TYPE);
        ctx.body = text;
      },
    },
    {
      method: 'POST',
      path: '/points',
      access: 'readwrite',
      async handle(ctx) {
        const id = await service.insert(await read(ctx, 'httpPoint'));
        answerJson(ctx, 201, JSON.stringify({ point_id: formatPointId(id) }));
      },
    },
    {
      method: 'POST',
      path: '/points/batch',
      access: 'readwrite',
      async handle(ctx) {
        const ids = await service.insertBatch(await read(ctx, 'httpPoints'));
        // The request was larger than its answer, and what is stored must not be refused.
        answerIds(ctx, 201, writeIds('point_ids', ids));
      },
    },
    {
      method: 'POST',
      path: '/points/search',
      access: 'readonly',
      async handle(ctx) {
        const results = await service.search(await read(ctx, 'httpQuery'), endOf(ctx));
        answerResults(ctx, writeIds('results', results));
      },
    },
    {
      method: 'POST',
      path: '/points/search/batch',
      access: 'readonly',
      async handle(ctx) {
        const results = await service.searchBatch(await read(ctx, 'httpQueries'), endOf(ctx));
        answerResults(ctx, writeIdLists('results', results));
      },
    },
    {
      method: 'GET',
      path: '/points/:id',
      access: 'readonly',
      async handle(ctx) {
        const { id, vector, payload } = await service.get(pointIdOf(ctx));
        const content_type = contentTypeName(payload.contentType);
        const payloadJson = JSON.stringify({ content_type, content: payload.content });
        const vectorJson = formatVector(vector);
        const json = Buffer.from(`{"id":"${id}","vector":${vectorJson},"payload":${payloadJson}}`);
        reservationOf(ctx, inflight).take(json.length);
        answerJson(ctx, 200, json);
      },
    },
    {
      method: 'DELETE',
      path: '/points/:id',
      access: 'readwrite',
      async handle(ctx) {
        await service.delete(pointIdOf(ctx));
        ctx.status = 204;
      },
    },
  ];
}

function pointIdOf(ctx: Context): PointId {
  const id = parsePointId(ctx.params['id'] ?? '');
  if (id === undefined) throw pointNotFound();
  return id;
}
