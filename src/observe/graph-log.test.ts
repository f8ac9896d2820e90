import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.js';
import { GraphLog, CHECK_INTERVAL_MS, PROGRESS_INTERVAL_MS } from './graph-log.js';
import { Similarity } from '../core/model.js';
import type { EngineDamage, EngineStatus } from '../engine/native.js';

let lines: Record<string, unknown>[] = [];
let status: EngineStatus;
let clock: ManualClock;
let log: GraphLog;

beforeEach(() => {
  clock = new ManualClock();
  lines = [];
  status = { points: 0, dead: 0, isFull: false, graphs: [], columns: [] };
  const write = (line: string): void => void lines.push(JSON.parse(line));
  const parameters = { hnswM: 16, hnswEfConstruction: 200 };
  log = new GraphLog({ status: () => status }, parameters, pino({}, { write }), clock);
});

afterEach(() => log.close());

const graph = {
  metric: Similarity.Cosine,
  slots: 9_000,
  linked: 100,
  caughtUp: false,
  exists: true,
  bytes: 1_260_000,
  idleSeconds: 0,
  failures: 0,
};

function damaged(...places: string[]): EngineDamage {
  return { places, points: [], damagedPoints: places.length, damagedHeaders: 0 };
}

function messages(): unknown[] {
  return lines.map(({ msg }) => msg);
}

test('a fault is told once, and again when it is another', async () => {
  status = { ...status, damage: damaged('one record') };
  await clock.advance(5 * CHECK_INTERVAL_MS);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ level: 50, fault: 'one record' });
  const damage = damaged('one record', 'two records');
  status = { ...status, damage, failure: 'no sync', upkeepFailure: 'no room' };
  await clock.advance(5 * CHECK_INTERVAL_MS);
  expect(lines.map(({ fault }) => fault)).toEqual([
    'one record',
    'no sync',
    'two records',
    'no room',
  ]);
});

test('a graph is told of when it is begun, now and then, and when it is built', async () => {
  status = { ...status, graphs: [{ ...graph, slots: 0, linked: 0 }] };
  await clock.advance(CHECK_INTERVAL_MS);
  expect(lines).toEqual([]);
  status = { ...status, graphs: [graph] };
  await clock.advance(CHECK_INTERVAL_MS + 2 * PROGRESS_INTERVAL_MS);
  expect(lines).toMatchObject([
    { msg: 'building a graph', graph: 'Cosine', points: 9_000, hnswM: 16 },
    { msg: 'building a graph', graph: 'Cosine', points: 9_000, linked: 100 },
    { msg: 'building a graph', graph: 'Cosine', points: 9_000, linked: 100 },
  ]);
  status = { ...status, graphs: [{ ...graph, linked: 9_000, caughtUp: true }] };
  await clock.advance(3 * PROGRESS_INTERVAL_MS);
  expect(messages().slice(3)).toEqual(['the graph is built']);
});

test('a graph that is given up is told of once each time, and so is the one built after it', async () => {
  const built = { ...graph, linked: 9_000, caughtUp: true };
  const failed = { ...graph, exists: false, failures: 1, failure: 'no memory' };
  // The last one was given up and built anew between two checks.
  const again = { ...built, failures: 2, failure: 'a panic' };
  for (const state of [built, failed, { ...built, failures: 1 }, again]) {
    status = { ...status, graphs: [state] };
    await clock.advance(5 * CHECK_INTERVAL_MS);
  }
  const begun = 'building a graph';
  const done = 'the graph is built';
  const givenUp = 'a graph was given up: searches scan all points until it is built anew';
  expect(messages()).toEqual([begun, done, givenUp, begun, done, givenUp, begun, done]);
  const failures = lines.filter(({ msg }) => msg === givenUp);
  expect(failures).toMatchObject([
    { level: 50, graph: 'Cosine', failures: 1, failure: 'no memory' },
    { level: 50, graph: 'Cosine', failures: 2, failure: 'a panic' },
  ]);
});

test('a graph that is given back is told of, and so is the one that is begun after it', async () => {
  const built = { ...graph, linked: 9_000, caughtUp: true };
  for (const graphs of [[built], [], [graph], [built]]) {
    status = { ...status, graphs };
    await clock.advance(2 * CHECK_INTERVAL_MS);
  }
  const begun = 'building a graph';
  const done = 'the graph is built';
  const givenBack = 'a graph without searches was given back: the next begins it anew';
  expect(messages()).toEqual([begun, done, givenBack, begun, done]);
  expect(lines[2]).toMatchObject({ level: 30, graph: 'Cosine' });
});

test('nothing is told once it is closed', async () => {
  log.close();
  status = { ...status, damage: damaged('one record'), graphs: [graph] };
  await clock.advance(5 * CHECK_INTERVAL_MS);
  expect(lines).toEqual([]);
});
