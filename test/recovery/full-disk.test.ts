import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { killAll, makeFolder, Vectord, writeKeys } from '../process/vectord.js';
import { openClients, type VectorClient, type TestPoint } from '../support/clients.js';
import { Random } from '../support/random.js';
import { expectLedger } from './check.js';
import { Ledger } from './ledger.js';
import { DIMENSION, randomPoint } from './load.js';

const DISK_BYTES = 2 << 20;
const SPARE_BYTES = 512 << 10;

const random = new Random(6);

let folder = '';
let dataPath = '';

beforeEach(() => {
  folder = makeFolder();
  dataPath = join(folder, 'data');
  mkdirSync(dataPath);
});

afterEach(async () => {
  await killAll();
  rmSync(folder, { recursive: true });
});

test.skipIf(!canMount())(
  'a full disk refuses inserts, 507 and RESOURCE_EXHAUSTED, and takes them when it has room',
  async () => {
    const vectord = await startOnSmallDisk();
    // Where the service sees its disk, this process can leave a file too.
    const filler = join(`/proc/${vectord.process.pid}/root`, dataPath, 'filler');
    writeFileSync(filler, Buffer.alloc(SPARE_BYTES, 1));
    const clients = openClients({
      http: vectord.value('HTTP'),
      grpc: vectord.value('gRPC'),
      keys: { readwrite: 'the-key', readonly: '' },
    });
    const [http, grpc] = clients;

    const ledger = new Ledger();
    const byHttp = await fillUp(ledger, http);
    const byGrpc = await fillUp(ledger, grpc);
    expect(byHttp.error).toContain('answered 507: ');
    expect(byGrpc.error).toContain('RESOURCE_EXHAUSTED: ');
    await expectLedger(clients, ledger);
    expect(ledger.stored.size).toBeGreaterThan(0);
    const stored = new Set(ledger.stored.values());
    const refused = [...byHttp.points, ...byGrpc.points];
    expect(refused.filter((point) => stored.has(point))).toEqual([]);

    rmSync(filler);
    for (const client of clients) {
      const point = randomPoint(random);
      await ledger.insert([point], async () => [await client.insert(point)]);
      await ledger.delete([...ledger.stored.keys()][0] ?? '', (id) => client.delete(id));
    }
    await expectLedger(clients, ledger);
    for (const client of clients) client.close();
    expect(await vectord.stop()).toEqual({ code: 0, signal: null });
  },
);

/** Inserts batch after batch until one is refused. */
async function fillUp(
  ledger: Ledger,
  client: VectorClient,
): Promise<{ points: TestPoint[]; error: string }> {
  for (;;) {
    const points = Array.from({ length: 10 }, largePoint);
    try {
      await ledger.insert(points, (batch) => client.insertBatch(batch));
    } catch (error) {
      return { points, error: String(error) };
    }
  }
}

function largePoint(): TestPoint {
  const point = randomPoint(random);
  return { ...point, content: point.content.padEnd(10_000, 'x') };
}

async function startOnSmallDisk(): Promise<Vectord> {
  const keysPath = join(folder, 'keys.json');
  writeKeys(keysPath, { role: 'readwrite', key: 'the-key' });
  const environment = { DATA_PATH: dataPath, SERVICE_KEYS_FILE: keysPath };
  const vectord = new Vectord(
    { ...environment, DIMENSION: String(DIMENSION), PATH: process.env['PATH'] ?? '' },
    [],
    withSmallDisk(dataPath),
  );
  await vectord.until(() => /^ready$/m.test(vectord.stdout));
  return vectord;
}

/** Runs what follows with a disk at `path` that nobody else sees: a file system in memory. */
function withSmallDisk(path: string): string[] {
  const mount = `mount -t tmpfs -o size=${DISK_BYTES} vectord "$0" && exec "$@"`;
  return ['unshare', '--map-root-user', '--mount', 'sh', '-c', mount, path];
}

/** Not every system lets its users mount anything. */
function canMount(): boolean {
  const path = makeFolder();
  const [program = '', ...rest] = [...withSmallDisk(path), 'true'];
  const { status } = spawnSync(program, rest);
  rmSync(path, { recursive: true });
  return status === 0;
}
