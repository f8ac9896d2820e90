import { constants } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { Connection, framed } from '../grpc/http2-call.js';
import { openClients, type TestPoint } from '../support/clients.js';
import { Random } from '../support/random.js';
import * as wire from '../support/wire.js';
import { endAll, openAll, times } from './flood.js';
import { DIMENSION, type Target } from './target.js';
import { underAttack } from './under-attack.js';

const QUERIES = 1_000;
const EF = 1_000;

function heavyMessage(target: Target): Buffer {
  const query = wire.delimited(1, wire.searchRequest(target.query, 10), wire.integer(4, EF));
  return framed(Buffer.concat(Array<Buffer>(QUERIES).fill(query)));
}

function heavyJson(target: Target): string {
  const query = target.searchJson.replace(/}$/, `,"ef":${EF}}`);
  return `{"queries":[${Array<string>(QUERIES).fill(query).join(',')}]}`;
}

underAttack('work that nobody waits for', [
  {
    name: 'heavy batches of searches over gRPC, given up at once',
    async strike(target) {
      const connections = Array.from({ length: 4 }, () => new Connection(target.server.grpc));
      const headers = { authorization: target.server.keys.readonly };
      const message = heavyMessage(target);
      const open = connections.flatMap((connection) =>
        Array.from({ length: 10 }, () => connection.open('SearchPointsBatch', headers)),
      );
      for (const { stream } of open) stream.end(message);
      await sleep(100);
      for (const { stream } of open) stream.close(constants.NGHTTP2_CANCEL);
      await Promise.all(open.map((call) => call.closed));
      for (const connection of connections) connection.close();
    },
  },
  {
    name: 'heavy batches of searches over HTTP, given up at once',
    mayDelay: true,
    async strike(target) {
      const json = heavyJson(target);
      const request =
        `POST /points/search/batch HTTP/1.1\r\nHost: x\r\napi-key: ${target.server.keys.readonly}` +
        `\r\nContent-Length: ${json.length}\r\n\r\n${json}`;
      const connections = await openAll(target.server.http, 20);
      await Promise.all(connections.map((connection) => connection.send(request)));
      await sleep(50);
      await endAll(connections);
    },
  },
  {
    name: 'calls whose deadline has passed when they arrive',
    async strike(target) {
      const connection = new Connection(target.server.grpc);
      const headers = { authorization: target.server.keys.readonly, 'grpc-timeout': '1n' };
      const message = heavyMessage(target);
      await times(10, async () => {
        const { stream, closed } = connection.open('SearchPointsBatch', headers);
        stream.end(message);
        await closed;
      });
      connection.close();
    },
  },
]);

underAttack('writes that race', [
  {
    name: 'points that are deleted while they are searched, fetched and deleted again',
    async strike(target) {
      const random = new Random(3);
      const clients = openClients(target.server);
      await times(8, async (worker) => {
        const client = clients[worker % 2 === 0 ? 0 : 1];
        for (let round = 0; round < 10; round += 1) {
          const point: TestPoint = {
            vector: random.vector(DIMENSION),
            contentType: 'Text',
            content: `${worker} ${round}`,
          };
          const id = await client.insert(point);
          const query = { vector: point.vector, similarity: 'Euclidean', limit: 3 } as const;
          expect((await client.search(query))[0]).toBe(id);
          const other = clients[worker % 2 === 0 ? 1 : 0];
          const deletes = await Promise.allSettled([client.delete(id), other.delete(id)]);
          expect(deletes.some(({ status }) => status === 'fulfilled')).toBe(true);
          const found = await other.search({ ...query, limit: 50 });
          expect(found).not.toContain(id);
          expect(new Set(found).size).toBe(found.length);
          await expect(client.get(id)).rejects.toThrow(/404|NOT_FOUND/);
        }
      });
      for (const client of clients) client.close();
    },
  },
]);
