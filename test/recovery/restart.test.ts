import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { killAll, makeFolder, Vectord, writeKeys } from '../process/vectord.js';
import {
  openClients,
  SIMILARITIES,
  type VectorClient,
  type TestQuery,
} from '../support/clients.js';
import { forEachParallel } from '../support/parallel.js';
import { Random } from '../support/random.js';
import { startServer, type TestServer } from '../support/server.js';
import { expectLedger } from './check.js';
import { Ledger } from './ledger.js';
import { DIMENSION, Load, randomPoint } from './load.js';

const POINTS = 600;
const DELETES = 200;

const random = new Random(2);

let folder = '';
let dataPath = '';
let keysPath = '';

beforeEach(() => {
  folder = makeFolder();
  dataPath = join(folder, 'data');
  keysPath = join(folder, 'keys.json');
  writeKeys(keysPath, { role: 'readwrite', key: 'the-key' });
});

afterEach(async () => {
  await killAll();
  rmSync(folder, { recursive: true });
});

test('after SIGTERM and a start all points and all answers are as before, time and again', async () => {
  const ledger = new Ledger();
  const queries = randomQueries();
  let before: string[][] | undefined;
  for (let times = 0; times < 3; times += 1) {
    await withServer(async (clients) => {
      if (before === undefined) await fill(clients, ledger);
      await expectLedger(clients, ledger);
      const [http, grpc] = await Promise.all(clients.map((client) => client.searchBatch(queries)));
      expect(grpc).toEqual(http);
      expect(http).toEqual(before ?? http);
      before = http;
    });
  }
});

describe('DIMENSION', () => {
  test('may change until a point is stored, and then never, even if none is left', async () => {
    await withServer(async () => {}, 7);
    await withServer(async ([client]) => {
      const id = await client.insert({ vector: [1, 2, 3], contentType: 'Text', content: '' });
      await client.delete(id);
    }, 3);
    for (const dimension of ['7', '2']) {
      const environment = { DATA_PATH: dataPath, SERVICE_KEYS_FILE: keysPath };
      const refused = new Vectord({ ...environment, DIMENSION: dimension });
      expect(await refused.exit).toEqual({ code: 1, signal: null });
      expect(refused.stderr).toContain('had 3 dimensions');
      const advice = 'unset DIMENSION, or set DATA_PATH to another folder';
      expect(refused.stderr).toContain(`but DIMENSION is ${dimension}: ${advice}`);
    }
    await withServer(async ([client]) => {
      await client.insert({ vector: [1, 2, 3], contentType: 'Text', content: '' });
    }, 3);
  });
});

test('a second process on the folder is refused and does the first, under load, no harm', async () => {
  const ledger = new Ledger();
  await withServer(async (clients) => {
    const load = new Load(clients, ledger, random);
    const second = new Vectord({ DATA_PATH: dataPath, SERVICE_KEYS_FILE: keysPath });
    expect(await second.exit).toEqual({ code: 1, signal: null });
    expect(second.stderr).toContain('in use by another process');
    await load.reaches(load.acknowledged + 20);
    await load.end();
    await expectLedger(clients, ledger);
  });
  await withServer((clients) => expectLedger(clients, ledger));
});

/** Starts on the folder, does something through both interfaces, and stops in order. */
async function withServer(
  act: (clients: readonly [VectorClient, VectorClient], server: TestServer) => Promise<void>,
  dimension = DIMENSION,
): Promise<void> {
  const server = await startServer({ dataPath, dimension });
  const clients = openClients(server);
  try {
    await act(clients, server);
  } finally {
    for (const client of clients) client.close();
    expect(await server.stop()).toBe(0);
  }
}

/** Points that tie with each other, one by one and in batches, a third of them deleted again. */
async function fill(
  [http, grpc]: readonly [VectorClient, VectorClient],
  ledger: Ledger,
): Promise<void> {
  const points = Array.from({ length: POINTS }, () => randomPoint(random));
  await ledger.insert(points.slice(0, 250), (sent) => http.insertBatch(sent));
  await ledger.insert(points.slice(250, 500), (sent) => grpc.insertBatch(sent));
  await forEachParallel(points.slice(500), 8, async (point, index) => {
    const client = index % 2 === 0 ? http : grpc;
    await ledger.insert([point], async () => [await client.insert(point)]);
  });
  const ids = [...ledger.stored.keys()];
  const leaving = new Set(Array.from({ length: DELETES }, () => random.pick(ids)));
  await forEachParallel([...leaving], 16, async (id, index) => {
    await ledger.delete(id, (sent) => (index % 2 === 0 ? http : grpc).delete(sent));
  });
}

/** Under every similarity some for a few neighbours and one for all, each answered exactly. */
function randomQueries(): TestQuery[] {
  return SIMILARITIES.flatMap((similarity) =>
    [1, 10, 10, 100, POINTS].map((limit) => ({
      // Few of its whole numbers are in any vector: under Hamming nearly all points tie.
      vector: random.wholeVector(DIMENSION, -1, 1),
      similarity,
      limit,
      ef: POINTS,
    })),
  );
}
