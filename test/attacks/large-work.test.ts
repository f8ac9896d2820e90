import { status } from '@grpc/grpc-js';
import { expect } from 'vitest';
import { Connection, framed } from '../grpc/http2-call.js';
import * as wire from '../support/wire.js';
import { ask, times } from './flood.js';
import { DIMENSION, LIMITS, type Target } from './target.js';
import { underAttack, type Wish } from './under-attack.js';

/** From this size on a request is read by the thread for large ones, and waits for its turn there. */
const LARGE_BYTES = 128 * 1024;

/** As many as a batch may have. */
const QUERIES = Number(LIMITS.MAX_BATCH);
const BATCHES = 6;
/** Together not quite what the service takes on. */
const LARGE_REQUESTS = 40;

/** A batch of few queries, which takes its turn wherever there are turns to take. */
function aSmallBatch(target: Target): Wish {
  const query = wire.delimited(1, target.searchMessage);
  const queries = Buffer.concat(Array<Buffer>(8).fill(query));
  const json = `{"queries":[${Array<string>(8).fill(target.searchJson).join(',')}]}`;
  return {
    httpPath: '/points/search/batch',
    httpBody: json.padEnd(LARGE_BYTES),
    grpcMethod: 'SearchPointsBatch',
    // A field that the contract does not know.
    grpcMessage: Buffer.concat([queries, wire.delimited(15, Buffer.alloc(LARGE_BYTES))]),
  };
}

underAttack(
  'large requests among small ones',
  [
    {
      name: 'the heaviest batches of searches',
      async strike(target) {
        // Only double precision can rank these: all points, one query after the other.
        const vector = Array<number>(DIMENSION).fill(1e30);
        const query = wire.delimited(1, wire.searchRequest(vector, 10));
        const message = framed(Buffer.concat(Array<Buffer>(QUERIES).fill(query)));
        const connection = new Connection(target.server.grpc);
        const headers = { authorization: target.server.keys.readonly };
        const codes = await times(BATCHES, () =>
          connection.call('SearchPointsBatch', headers, message),
        );
        expect(codes).toEqual(Array<number>(BATCHES).fill(status.OK));
        connection.close();
      },
    },
    {
      name: 'many requests that take long to be read',
      mayDelay: true,
      async strike(target) {
        const vector = Array<number>(DIMENSION).fill(1).join();
        const query = `{"vector":[${vector}],"similarity":"Euclidean","limit":1},`;
        const json = `{"queries":[${query.repeat(QUERIES - 1)}{}]}`;
        const headers = { 'api-key': target.server.keys.readonly };
        await times(LARGE_REQUESTS, async () => {
          const answer = await ask(target, 'POST', '/points/search/batch', json, headers);
          expect(answer.text).toMatch(/vector is missing/);
          expect(answer.status).toBe(400);
        });
      },
    },
  ],
  aSmallBatch,
);
