import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { expect } from 'vitest';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '../../../src/gen/grpc/health/v1/health.js';
import {
  ContentType,
  Similarity,
  type InsertVectorRequest,
  type PointID,
  type SearchRequest,
} from '../../../src/gen/vectordb/vectordb.js';
import { forEachParallel } from '../../support/parallel.js';
import type { StepClient } from './step-client.js';

/** What each client does, under the name by which programs in other languages know it. */
export const STEPS = {
  operations: 'inserts, gets, searches and deletes a point',
  batch: 'sends a batch of several MiB and reads an answer of several MiB',
  details: 'reads a message with percent signs and characters of many scripts',
  metadata: 'sends binary metadata',
  deadline: 'gets DEADLINE_EXCEEDED when its deadline passes',
  longest: 'may have the longest deadline that its library sends',
  cancel: 'cancels a large request under way, and goes on',
  health: 'checks the health of the service, and watches it',
  reflection: 'lists the services',
  parallel: 'makes 500 calls at once',
} as const;

export type StepName = keyof typeof STEPS;

export const DIMENSION = 16;
const SERVICE = 'vectordb.VectorDB';
/** Fewer than the calls that may be open: Node counts calls that were cancelled just before, too. */
const BATCH = 100;
/** Two bytes each. */
const CONTENT_CHARACTERS = 16_384;
const MANY_QUERIES = 1_000;
/** Enough to compute for longer than `SHORT_MS`. */
const HEAVY_QUERIES = 50_000;
/** Less than the request for them, and more than the insert before it. */
export const HEAVY_BYTES = 1_000_000;
const SHORT_MS = 50;
const LONGEST_MS = 99_999_999 * 3_600_000;
const MIB = 1024 * 1024;
const CANCELLED_MIB = 24;
const CANCEL_AFTER_MS = 20;
const PARALLEL = 500;
const UNUSUAL_ID = '100 % größer, %41 ✓ 中文 😀';

const RUN: Record<StepName, (client: StepClient) => Promise<void>> = {
  operations: useAll,
  batch: useBatch,
  details: readDetails,
  metadata: sendBinaryMetadata,
  deadline: passDeadline,
  longest: haveLongestDeadline,
  cancel: cancelUpload,
  health: askForHealth,
  reflection: listServices,
  parallel: callInParallel,
};

export async function runStep(name: StepName, client: StepClient): Promise<void> {
  await RUN[name](client);
}

/**
 * Calls that are under way when the server stops: begins them, and resolves once they have ended
 * as they are to.
 */
export async function outliveServer(client: StepClient): Promise<void> {
  const seen: ServingStatus[] = [];
  const watched = (async () => {
    for await (const answer of client.watch(SERVICE)) seen.push(answer.status);
  })();
  const ids = await insertBatch(client, 0);
  const { results } = await client.call('searchPointsBatch', heavySearch());
  expect(results.length).toBe(HEAVY_QUERIES);
  for (const index of [0, 1, HEAVY_QUERIES - 1]) {
    expect(results[index]?.resultPointIds).toEqual([ids[index % BATCH]]);
  }
  await watched;
  expect(seen).toEqual([ServingStatus.SERVING, ServingStatus.NOT_SERVING]);
  await expect(client.call('searchPoints', query(0, 1))).rejects.toMatchObject({
    code: status.UNAVAILABLE,
  });
}

async function useAll(client: StepClient): Promise<void> {
  const inserted = await client.call('insertVector', point(7));
  expect(await client.call('getPoint', inserted)).toEqual({ id: inserted, ...point(7) });
  const found = await client.call('searchPoints', query(7, 1));
  expect(found).toEqual({ resultPointIds: [inserted] });
  await client.call('deletePoint', inserted);
  await expect(client.call('getPoint', inserted)).rejects.toMatchObject({
    code: status.NOT_FOUND,
    details: 'Point not found',
  });
}

async function useBatch(client: StepClient): Promise<void> {
  const ids = await insertBatch(client);
  const queries = Array.from({ length: MANY_QUERIES }, (_, index) => query(index % BATCH, BATCH));
  const { results } = await client.call('searchPointsBatch', { queries });
  expect(results.length).toBe(MANY_QUERIES);
  for (const [index, { resultPointIds }] of results.entries()) {
    expect(resultPointIds.length).toBe(BATCH);
    expect(resultPointIds[0]).toEqual(ids[index % BATCH]);
  }
  await deleteAll(client, ids);
}

async function readDetails(client: StepClient): Promise<void> {
  await expect(client.call('getPoint', { id: { value: UNUSUAL_ID } })).rejects.toMatchObject({
    code: status.INVALID_ARGUMENT,
    details: `id is "${UNUSUAL_ID}", expected a UUID (8-4-4-4-12 hexadecimal digits)`,
  });
}

async function sendBinaryMetadata(client: StepClient): Promise<void> {
  const metadata = { 'x-trace-bin': Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)) };
  const found = await client.call('searchPoints', query(0, 1), { metadata });
  expect(found).toEqual({ resultPointIds: [] });
}

async function passDeadline(client: StepClient): Promise<void> {
  const options = { timeoutMs: SHORT_MS };
  const passed = { code: status.DEADLINE_EXCEEDED };
  const watching = (async () => {
    for await (const answer of client.watch(SERVICE, options)) {
      expect(answer.status).toBe(ServingStatus.SERVING);
    }
  })();
  await expect(watching).rejects.toMatchObject(passed);
  const ids = await insertBatch(client, 0);
  await expect(client.call('searchPointsBatch', heavySearch(), options)).rejects.toMatchObject(
    passed,
  );
  await deleteAll(client, ids);
}

async function haveLongestDeadline(client: StepClient): Promise<void> {
  const found = await client.call('searchPoints', query(0, 1), { timeoutMs: LONGEST_MS });
  expect(found).toEqual({ resultPointIds: [] });
}

async function cancelUpload(client: StepClient): Promise<void> {
  const cancelling = new AbortController();
  const payload = { contentType: ContentType.Text, content: 'x'.repeat(MIB) };
  const vectors = Array.from({ length: CANCELLED_MIB }, () => ({ ...point(0), payload }));
  const upload = client.call('insertVectorsBatch', { vectors }, { signal: cancelling.signal });
  const ended = upload.then(
    () => status.OK,
    // nice-grpc says that it was aborted, and has no code for it.
    (error: Error & { code?: status }) =>
      error.name === 'AbortError' ? status.CANCELLED : error.code,
  );
  await sleep(CANCEL_AFTER_MS);
  cancelling.abort();
  expect(await ended).toBe(status.CANCELLED);
  await useAll(client);
}

async function askForHealth(client: StepClient): Promise<void> {
  expect(await client.check(SERVICE)).toEqual({ status: ServingStatus.SERVING });
  for await (const answer of client.watch(SERVICE)) {
    expect(answer).toEqual({ status: ServingStatus.SERVING });
    break;
  }
}

async function listServices(client: StepClient): Promise<void> {
  expect(await client.listServices()).toEqual([
    'vectordb.VectorDB',
    'vectord.v1.PointsService',
    'grpc.health.v1.Health',
  ]);
}

async function callInParallel(client: StepClient): Promise<void> {
  const ids = await insertBatch(client, 0);
  const calls = Array.from({ length: PARALLEL }, async (_, index) => {
    const id = ids[index % BATCH] ?? { id: undefined };
    expect(await client.call('getPoint', id)).toEqual({ id, ...point(index % BATCH, 0) });
  });
  await Promise.all(calls);
  await deleteAll(client, ids);
}

/** Points of several MiB in all, unless told otherwise. */
async function insertBatch(client: StepClient, characters?: number): Promise<PointID[]> {
  const vectors = Array.from({ length: BATCH }, (_, index) => point(index, characters));
  return (await client.call('insertVectorsBatch', { vectors })).ids;
}

async function deleteAll(client: StepClient, ids: readonly PointID[]): Promise<void> {
  await forEachParallel(ids, BATCH, async (id) => void (await client.call('deletePoint', id)));
}

function heavySearch(): { queries: SearchRequest[] } {
  const queries = Array.from({ length: HEAVY_QUERIES }, (_, index) => query(index % BATCH, 1));
  return { queries };
}

function point(index: number, characters = CONTENT_CHARACTERS): InsertVectorRequest {
  const content = `${index}: ${'é'.repeat(characters)}`;
  return { vector: vector(index), payload: { contentType: ContentType.Text, content } };
}

/** Its nearest point is the one of the same index. */
function query(index: number, limit: number): SearchRequest {
  const queryVector = vector(index);
  return { queryVector, similarity: Similarity.Euclidean, limit: BigInt(limit), ef: 0n };
}

function vector(index: number): { values: number[] } {
  return { values: Array.from({ length: DIMENSION }, (_, place) => index + place / DIMENSION) };
}
