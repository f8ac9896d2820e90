import { expect, test } from 'vitest';
import { DelayProxy } from '../support/delay-proxy.js';
import { startServer } from '../support/server.js';
import * as wire from '../support/wire.js';
import { RawClient } from './client.js';

const MIB = 1024 * 1024;
const ITEMS = 64;
const ROUND_TRIP_MS = 50;
const LONGEST_UPLOAD_MS = 8_000;

/** With windows of 64 KiB an upload of 64 MiB takes 1,024 round trips. */
test('an upload of 64 MiB over a line of 50 ms takes less than 8 s once a key was shown', async () => {
  const server = await startServer({ env: { MAX_REQUEST_BYTES: String((ITEMS + 1) * MIB) } });
  const line = await DelayProxy.open(server.grpc, ROUND_TRIP_MS / 2);
  const client = new RawClient(line.address, server.keys.readwrite);
  const search = wire.searchRequest([1, 2, 3, 4], 1);
  expect(await client.call('SearchPoints', search)).toMatchObject({ code: 0 });
  const item = wire.delimited(1, wire.insertRequest([1, 2, 3, 4], 'x'.repeat(MIB)));
  const upload = Buffer.concat(Array<Buffer>(ITEMS).fill(item));
  const startedMs = performance.now();
  expect(await client.call('InsertVectorsBatch', upload)).toMatchObject({ code: 0 });
  expect(performance.now() - startedMs).toBeLessThan(LONGEST_UPLOAD_MS);
  expect(line.connections).toBe(1);
  client.close();
  line.close();
  expect(await server.stop()).toBe(0);
}, 120_000);
