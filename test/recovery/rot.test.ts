import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createChannel, createClient } from 'nice-grpc';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  HealthCheckResponse_ServingStatus as ServingStatus,
  HealthDefinition,
} from '../../src/gen/grpc/health/v1/health.js';
import { openClients, type TestPoint, type VectorClient } from '../support/clients.js';
import { Random } from '../support/random.js';
import { segmentsOf } from '../support/segments.js';
import { startServer, type TestServer } from '../support/server.js';
import { ownFolder } from '../support/vectord.js';
import { expectLedger } from './check.js';
import { runCommand } from './command.js';
import { Ledger } from './ledger.js';
import { DIMENSION, randomPoint } from './load.js';
import { LogFile } from './log-file.js';

/** Enough for several segments of the least size. */
const BATCHES = 10;
const BATCH_POINTS = 100;
const SEGMENT_BYTES = '65536';

const MORE_THAN_ALL = 2_000;

const ID_AT = 16;
const SEQUENCE_AT = 8;

const random = new Random(20);

let folder = '';
let dataPath = '';
let ledger: Ledger;
let server: TestServer;
let clients: readonly [VectorClient, VectorClient];

beforeEach(() => {
  ({ folder, dataPath } = ownFolder());
  ledger = new Ledger();
});

afterEach(() => {
  for (const client of clients) client.close();
});

/** A point in a sealed segment, and the record that is about to be damaged. */
interface Victim {
  readonly id: string;
  readonly point: TestPoint;
  readonly path: string;
  readonly offset: number;
  readonly sequence: number;
}

test('rot in a sealed segment while it is served fails the gets of its points, and nothing else', async () => {
  await start();
  await fill();
  const victims = damage();
  await expectWell();
  for (const { id } of victims) await expectRefused((client) => client.get(id));
  await expectFaultTold(victims);
  await expectNamedInLog(victims);
  await expectOthersServed(victims);
  await expectWrites();
  await stop();
  await expectNamedByCheck(victims);
}, 60_000);

test('rot that a restart finds in sealed segments is in no answer: searches fail that would hold it', async () => {
  const victims = await startDamaged();
  for (const { id, point } of victims) {
    const query = nearestTo(point);
    await expectRefused((client) => client.search(query));
    await expectRefused((client) => client.searchBatch([nearestTo(healthy(victims)), query]));
    await expectRefused((client) => client.get(id));
  }
  await expectRefused((client) => client.search(searchForAll()));
  await expectFaultTold(victims);
  await expectNamedInLog(victims);
  await expectOthersServed(victims);
  await expectWrites();
  // Who can do without the damaged points gets all other answers back.
  for (const { id } of victims) await ledger.delete(id, (sent) => clients[0].delete(sent));
  await expectLedger(clients, ledger);
  await expectWell();
  await stop();
  await expectHarmless(victims);
}, 60_000);

test('a delete of the damaged points and compaction heal the folder', async () => {
  const victims = await startDamaged();
  await vi.waitFor(() => expectFaultTold(victims), { timeout: 20_000, interval: 200 });
  // With them goes most of what was stored before: it pays to compact their files.
  const ids = [...ledger.stored.keys()].slice(0, BATCHES * BATCH_POINTS * 0.8);
  for (const { id } of victims) expect(ids).toContain(id);
  for (const id of ids) await ledger.delete(id, (sent) => clients[0].delete(sent));
  await expectWell();
  const files = new Set(victims.map(({ path }) => basename(path)));
  await vi.waitFor(
    () => expect(readdirSync(dataPath).filter((name) => files.has(name))).toEqual([]),
    { timeout: 30_000, interval: 200 },
  );
  await expectWell();
  await expectLedger(clients, ledger);
  await stop();
  const { code, stdout } = await runCommand(dataPath, 'check');
  expect(stdout).not.toMatch('note: ');
  expect(stdout).toMatch(/^no damage$/m);
  expect(code).toBe(0);
});

test('rot that nobody asks for is found in the background', async () => {
  const victims = await startDamaged();
  await vi.waitFor(() => expectFaultTold(victims), { timeout: 20_000, interval: 200 });
  await expectNamedInLog(victims);
});

async function start(): Promise<void> {
  server = await startServer({ dataPath, dimension: DIMENSION, env: { SEGMENT_BYTES } });
  clients = openClients(server);
}

/** Starts on a folder that was damaged while nobody served it. */
async function startDamaged(): Promise<readonly [Victim, Victim]> {
  await start();
  await fill();
  await stop();
  const victims = damage();
  await start();
  return victims;
}

async function stop(): Promise<void> {
  for (const client of clients) client.close();
  expect(await server.stop()).toBe(0);
}

async function fill(): Promise<void> {
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const points = Array.from({ length: BATCH_POINTS }, () => randomPoint(random));
    await ledger.insert(points, (sent) => clients[batch % 2 === 0 ? 0 : 1].insertBatch(sent));
  }
  expect(segmentsOf(dataPath).length).toBeGreaterThan(2);
}

/** Flips a bit in the vector of the first point, and one in the content of another early one. */
function damage(): readonly [Victim, Victim] {
  const [first, second] = [victimAt(0), victimAt(BATCH_POINTS * 2)];
  flip(first, new Uint8Array(Float32Array.from(first.point.vector).buffer), 5);
  flip(second, Buffer.from(second.point.content), 2);
  return [first, second];
}

function victimAt(index: number): Victim {
  const [id = '', point] = [...ledger.stored][index] ?? [];
  if (point === undefined) throw new Error(`there are not ${index} points`);
  const bytes = Buffer.from(id.replaceAll('-', ''), 'hex');
  const log = LogFile.holding(dataPath, bytes);
  expect(log.path, 'the segment being written').not.toBe(segmentsOf(dataPath).at(-1));
  const offset = log.find(bytes) - ID_AT;
  const sequence = Number(readFileSync(log.path).readBigUInt64LE(offset + SEQUENCE_AT));
  return { id, point, path: log.path, offset, sequence };
}

function flip({ path }: Victim, bytes: Uint8Array, at: number): void {
  const log = LogFile.holding(dataPath, bytes);
  expect(log.path).toBe(path);
  log.flipBit(log.find(bytes) + at);
}

function healthy(victims: readonly Victim[]): TestPoint {
  const [, point] =
    [...ledger.stored].find(([id]) => victims.every((other) => other.id !== id)) ?? [];
  if (point === undefined) throw new Error('there are other points');
  return point;
}

function nearestTo({ vector }: TestPoint) {
  return { vector, similarity: 'Euclidean', limit: 1, ef: MORE_THAN_ALL } as const;
}

function searchForAll() {
  return {
    vector: random.vector(DIMENSION),
    similarity: 'Manhattan',
    limit: MORE_THAN_ALL,
  } as const;
}

/** Both interfaces refuse, and tell nothing of files. */
async function expectRefused(ask: (client: VectorClient) => Promise<unknown>): Promise<void> {
  const [http, grpc] = await Promise.all(
    clients.map((client) =>
      ask(client).then(
        () => 'an answer',
        (error: unknown) => String(error),
      ),
    ),
  );
  expect(http).toMatch(/answered 500: Internal server error \(request [-0-9a-f]{36}\)$/);
  expect(grpc).toMatch(/ INTERNAL: Internal server error/);
  expect(`${http} ${grpc}`).not.toContain(dataPath);
}

async function expectWell(): Promise<void> {
  expect(await answerOf('/ready')).toEqual([200, 'ready']);
  for (const status of await grpcHealth()) expect(status).toBe(ServingStatus.SERVING);
}

/** Readiness is red on both interfaces and names the points; the service says that it is alive. */
async function expectFaultTold(victims: readonly Victim[]): Promise<void> {
  const [code, text] = await answerOf('/ready');
  expect(code).toBe(503);
  expect(text).toMatch(
    / are damaged: answers that would hold them are refused, and searches may miss them$/,
  );
  for (const { id } of victims) expect(text).toContain(id);
  expect(text).not.toContain(dataPath);
  expect(await answerOf('/health')).toEqual([200, 'OK']);
  for (const status of await grpcHealth()) expect(status).toBe(ServingStatus.NOT_SERVING);
}

async function answerOf(path: string): Promise<[number, string]> {
  const response = await fetch(server.http + path);
  return [response.status, await response.text()];
}

/** Of the server as a whole and of its service. */
async function grpcHealth(): Promise<ServingStatus[]> {
  const channel = createChannel(server.grpc);
  try {
    const health = createClient(HealthDefinition, channel);
    const services = ['', 'vectordb.VectorDB'];
    const answers = await Promise.all(services.map((service) => health.check({ service })));
    return answers.map(({ status }) => status);
  } finally {
    channel.close();
  }
}

/** A line about each of these. */
async function expectNamedInLog(victims: readonly Victim[]): Promise<void> {
  const lines = victims.map(
    ({ id, path, offset, sequence }) =>
      `${path} is damaged at byte ${offset}: ` +
      `the checksum of the record with sequence ${sequence} does not match: point ${id}`,
  );
  const isTold = (): boolean =>
    lines.every((line) =>
      server
        .log()
        .includes(
          `"fault":"${line}","msg":"a stored record is damaged: \`vectord check\` tells of all"`,
        ),
    );
  await vi.waitFor(() => expect(isTold(), server.log()).toBe(true), { timeout: 10_000 });
}

/** Every other point is got as it was stored, and found by a search for its vector. */
async function expectOthersServed(victims: readonly Victim[]): Promise<void> {
  const damaged = new Set(victims.map(({ id }) => id));
  const others = [...ledger.stored].filter(([id]) => !damaged.has(id));
  for (const client of clients) {
    const got = await Promise.all(others.map(([id]) => client.get(id)));
    expect(got).toEqual(others.map(([id, point]) => ({ id, ...point })));
    const found = await client.searchBatch(others.map(([, point]) => nearestTo(point)));
    expect(found).toEqual(others.map(([id]) => [id]));
  }
}

async function expectWrites(): Promise<void> {
  for (const client of clients) {
    const point = randomPoint(random);
    await ledger.insert([point], async () => [await client.insert(point)]);
    const [id = ''] = [...ledger.stored.keys()].slice(-2);
    await ledger.delete(id, (sent) => client.delete(sent));
  }
}

/** Check and backup of the folder name these records and no others. */
async function expectNamedByCheck(victims: readonly Victim[]): Promise<void> {
  const checked = await runCommand(dataPath, 'check');
  const backup = await runCommand(dataPath, 'backup', join(folder, 'backup'));
  for (const { stdout, code } of [checked, backup]) {
    for (const line of victims.map(placeOf)) expect(stdout).toContain(line);
    expect(code).toBe(3);
  }
  expect(checked.stdout).toMatch(/^2 damaged places$/m);
}

/** What is left of points that were deleted is no damage: check and backup say so. */
async function expectHarmless(victims: readonly Victim[]): Promise<void> {
  const checked = await runCommand(dataPath, 'check');
  const backup = await runCommand(dataPath, 'backup', join(folder, 'backup'));
  for (const { stdout, code } of [checked, backup]) {
    for (const victim of victims) {
      expect(stdout).toContain(`note: ${placeOf(victim)}, which was deleted: compaction drops it`);
    }
    expect(code).toBe(0);
  }
}

function placeOf({ id, path, offset, sequence }: Victim): string {
  return (
    `${path} is damaged at byte ${offset}, sequence ${sequence}: ` +
    `the checksum of the record with sequence ${sequence} does not match: point ${id}`
  );
}
