import { expect } from 'vitest';
import { openClients, type VectorClient } from '../support/clients.js';
import type { Random } from '../support/random.js';
import { startServer, type ServerOptions, type TestServer } from '../support/server.js';
import { expectLedger } from './check.js';
import { Ledger } from './ledger.js';
import { DIMENSION, randomPoint } from './load.js';

/** A data folder, and how it is served. */
export type Served = ServerOptions & { readonly dataPath: string };

type Act<T> = (clients: readonly [VectorClient, VectorClient], server: TestServer) => Promise<T>;

/** Serves a folder and does something through both interfaces, which ends the server too. */
export async function withServer<T>(served: Served, act: Act<T>): Promise<T> {
  const server = await startServer({ dimension: DIMENSION, ...served });
  const clients = openClients(server);
  try {
    return await act(clients, server);
  } finally {
    for (const client of clients) client.close();
  }
}

/** Serves a folder, does something through both interfaces, stops in order and answers the log. */
export async function serve(served: Served, act: Act<void>): Promise<string> {
  return await withServer(served, async (clients, server) => {
    await act(clients, server);
    expect(await server.stop()).toBe(0);
    return server.log();
  });
}

/** Starts, compares on both interfaces, stops, and answers what was written meanwhile. */
export async function expectServed(served: Served, ledger: Ledger): Promise<string> {
  return await serve(served, (clients) => expectLedger(clients, ledger));
}

/** Stores a few points in a fresh data folder, deletes some and ends the service. */
export async function writeSome(
  dataPath: string,
  random: Random,
  end: 'stop' | 'kill' = 'stop',
): Promise<Ledger> {
  const ledger = new Ledger();
  await withServer({ dataPath }, async (clients, server) => {
    for (const client of clients) {
      const points = Array.from({ length: 20 }, () => randomPoint(random));
      await ledger.insert(points, (sent) => client.insertBatch(sent));
      await ledger.delete([...ledger.stored.keys()][0] ?? '', (id) => client.delete(id));
    }
    await server[end]();
  });
  return ledger;
}
