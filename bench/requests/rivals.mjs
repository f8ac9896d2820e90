// One server in a process of its own, named by the first argument. All answer the same search with
// the same ids; they differ in what they do with a request, and none of these has an engine.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Router from '@koa/router';
import Koa from 'koa';
import { createServer } from 'nice-grpc';
import { readConfig } from '../../dist/config.js';
import { Decoder } from '../../dist/decode/decoder.js';
import { VectorDBDefinition } from '../../dist/gen/vectordb/vectordb.js';
import { startGrpc } from '../../dist/grpc/server.js';
import { collectRarely } from '../../dist/heap.js';
import { startHttp } from '../../dist/http/server.js';
import { InflightBytes } from '../../dist/inflight.js';
import { Keys } from '../../dist/keys.js';
import { createLogger } from '../../dist/logger.js';
import { Requests } from '../../dist/observe/requests.js';
import { Pace } from '../../dist/pace.js';
import { formatPointId } from '../../dist/point-id.js';
import { Service } from '../../dist/service.js';
import { ANSWER, ANSWER_IDS, KEY } from './fixed.mjs';

const LOCALHOST = '127.0.0.1';

/** What each rival is; answers the port that it listens on. */
const RIVALS = {
  /** nice-grpc alone: bytes in, bytes out. */
  async empty() {
    const asItIs = { encode: (bytes) => ({ finish: () => bytes }), decode: (bytes) => bytes };
    return await serveGrpc(asItIs, asItIs, () => ANSWER);
  },

  /** nice-grpc with the code that ts-proto generates. */
  async generated() {
    const { requestType, responseType } = VectorDBDefinition.methods.searchPoints;
    const resultPointIds = ANSWER_IDS.map((id) => ({ id: { value: id } }));
    return await serveGrpc(requestType, responseType, (request) => {
      Float32Array.from(request.queryVector.values);
      return { resultPointIds };
    });
  },

  /** The gRPC interface of vectord, whole, over an engine that answers at once. */
  async grpc(dimension) {
    const { port } = await startGrpc({ ...parts(dimension, 'grpc'), reflection: true });
    return port;
  },

  /** koa as it is commonly used. */
  async koa() {
    const cache = new URL('../.cache/requests/', import.meta.url);
    const { bodyParser } = createRequire(cache)('@koa/bodyparser');
    const app = new Koa();
    const router = new Router();
    router.post('/points/search', (ctx) => {
      Float32Array.from(ctx.request.body.vector);
      ctx.body = { results: ANSWER_IDS };
    });
    app.use(bodyParser({ jsonLimit: '64mb' })).use(router.routes());
    const server = app.listen(0, LOCALHOST);
    await once(server, 'listening');
    return server.address().port;
  },

  /** The HTTP interface of vectord, whole, over an engine that answers at once. */
  async http(dimension) {
    const { port } = await startHttp(parts(dimension, 'http'));
    return port;
  },
};

async function serveGrpc(requestType, responseType, searchPoints) {
  const method = { ...VectorDBDefinition.methods.searchPoints, requestType, responseType };
  const server = createServer();
  const search = async (request) => searchPoints(request);
  server.add(
    { ...VectorDBDefinition, methods: { searchPoints: method } },
    { searchPoints: search },
  );
  return await server.listen(`${LOCALHOST}:0`);
}

/** What both interfaces of vectord are made from, with an engine that answers at once. */
function parts(dimension, protocol) {
  const config = readConfig({ LOG_LEVEL: 'warn' });
  const ids = Buffer.from(ANSWER_IDS.join('').replaceAll('-', ''), 'hex');
  if (formatPointId(ids) !== ANSWER_IDS[0]) throw new Error('the ids are not what they should be');
  const engine = { search: () => ids, status: () => ({ points: ANSWER_IDS.length }) };
  const rules = { dimension, limits: config, defaultEf: config.hnswEf };
  const folder = mkdtempSync(join(tmpdir(), 'vectord-requests-'));
  const keysFile = join(folder, 'keys.json');
  writeFileSync(
    keysFile,
    JSON.stringify({ keys: [{ name: 'bench', role: 'readonly', key: KEY }] }),
  );
  const keys = Keys.load(keysFile);
  rmSync(folder, { recursive: true });
  return {
    host: LOCALHOST,
    port: 0,
    maxConnections: config.maxConnections,
    pace: new Pace(),
    service: new Service(engine, rules),
    decoder: new Decoder(rules),
    keys,
    inflight: new InflightBytes(config.maxInflightBytes),
    requests: new Requests({
      protocol,
      logger: createLogger(config.logLevel),
      slowRequestMs: config.slowRequestMs,
      nameOf: (status) => status,
    }),
    logger: createLogger(config.logLevel),
  };
}

collectRarely();
const [name, dimension] = process.argv.slice(2);
process.on('disconnect', () => process.exit());
process.send({ port: await RIVALS[name](Number(dimension)) });
