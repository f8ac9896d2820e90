import { readdirSync } from 'node:fs';
import { beforeEach, expect, test } from 'vitest';
import { SIMILARITIES, type TestQuery, type VectorClient } from '../support/clients.js';
import { forEachParallel } from '../support/parallel.js';
import { Random } from '../support/random.js';
import { expectRefusal } from '../support/refusal.js';
import { ownFolder, Vectord } from '../support/vectord.js';
import { expectLedger } from './check.js';
import { Ledger } from './ledger.js';
import { DIMENSION, Load, randomPoint } from './load.js';
import { expectServed, serve } from './serve.js';

const POINTS = 600;
const DELETES = 200;

const random = new Random(2);

let dataPath = '';
let environment: Record<string, string> = {};

beforeEach(() => {
  ({ dataPath, environment } = ownFolder());
});

test('after SIGTERM and a start all points and all answers are as before, time and again', async () => {
  const ledger = new Ledger();
  const queries = randomQueries();
  let before: string[][] | undefined;
  for (let times = 0; times < 3; times += 1) {
    await serve({ dataPath }, async (clients) => {
      if (before === undefined) await fill(clients, ledger);
      await expectLedger(clients, ledger);
      const [http, grpc] = await Promise.all(clients.map((client) => client.searchBatch(queries)));
      expect(grpc).toEqual(http);
      expect(http).toEqual(before ?? http);
      before = http;
    });
  }
});

test('DIMENSION may change until a point is stored, and then never, even if none is left', async () => {
  let id = '';
  const serveAs = (dimension: number, act: (client: VectorClient) => Promise<void>) =>
    serve({ dataPath, dimension }, ([client]) => act(client));
  const insert = async (client: VectorClient): Promise<void> => {
    id = await client.insert({ vector: [1, 2, 3], contentType: 'Text', content: '' });
  };
  const expectRefused = async (dimension: number): Promise<void> => {
    const vectord = new Vectord({ ...environment, DIMENSION: String(dimension) });
    const advice = 'unset DIMENSION, or set DATA_PATH to another folder';
    const fault = `but DIMENSION is ${dimension}: ${advice}`;
    await expectRefusal(vectord, 1, dataPath, 'had 3 dimensions', fault);
  };
  await serveAs(7, async () => {});
  await serveAs(3, insert);
  await expectRefused(7);
  await serveAs(3, (client) => client.delete(id));
  for (const dimension of [7, 2]) await expectRefused(dimension);
  await serveAs(3, insert);
});

test('a second process on the folder is refused, makes no keys and does the first, under load, no harm', async () => {
  const ledger = new Ledger();
  await serve({ dataPath }, async (clients, server) => {
    const load = new Load(clients, ledger, random);
    const second = new Vectord({ DATA_PATH: dataPath });
    await expectRefusal(second, 1, dataPath, `in use by another process (pid ${server.pid})`);
    await load.reaches(load.acknowledged + 20);
    await load.end();
    await expectLedger(clients, ledger);
  });
  expect(readdirSync(dataPath).filter((name) => name.includes('keys'))).toEqual([]);
  await expectServed({ dataPath }, ledger);
});

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
