// One server in a process of its own, named by the first argument. All answer the same search with
// the same ids; they differ in what they do with a request, and none of these has an engine.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer as createListener } from 'node:net';
import { VectorDBDefinition } from '../../dist/gen/vectordb/vectordb.js';
import { ANSWER, ANSWER_IDS, LOCALHOST } from './fixed.mjs';

/** Each loads its own libraries alone: vectord opens doors in those that it is made with. */
const RIVALS = {
  /** nice-grpc alone: bytes in, bytes out. */
  async empty() {
    const asItIs = { encode: (bytes) => ({ finish: () => bytes }), decode: (bytes) => bytes };
    return await serveNiceGrpc(asItIs, asItIs, () => ANSWER);
  },

  /** The same service on our own transport. */
  async transport() {
    const { TransportServer } = await import('../../dist/grpc/transport/server.js');
    const asItIs = { encode: (bytes) => ({ finish: () => bytes }), decode: (bytes) => bytes };
    const method = {
      ...VectorDBDefinition.methods.searchPoints,
      requestType: asItIs,
      responseType: asItIs,
    };
    const messageLimit = { maxBytes: 1 << 20, setting: 'none' };
    const server = new TransportServer({ messageLimit, policy: everythingGoes });
    server.add(
      { fullName: VectorDBDefinition.fullName, methods: { searchPoints: method } },
      { searchPoints: async () => ANSWER },
    );
    const listener = createListener((socket) => server.take(socket)).listen(0, LOCALHOST);
    await once(listener, 'listening');
    return listener.address().port;
  },

  /** node:http2 alone, which answers whatever it is asked. */
  async bare() {
    const { createServer } = await import('node:http2');
    const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, ANSWER.length]), ANSWER]);
    const server = createServer();
    server.on('stream', (stream) => {
      stream.on('data', () => undefined);
      stream.on('end', () => {
        stream.respond(
          { ':status': 200, 'content-type': 'application/grpc+proto' },
          { waitForTrailers: true },
        );
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
        stream.end(frame);
      });
    });
    server.listen(0, LOCALHOST);
    await once(server, 'listening');
    return server.address().port;
  },

  /** nice-grpc with the code that ts-proto generates. */
  async generated() {
    const { requestType, responseType } = VectorDBDefinition.methods.searchPoints;
    const resultPointIds = ANSWER_IDS.map((id) => ({ id: { value: id } }));
    return await serveNiceGrpc(requestType, responseType, (request) => {
      Float32Array.from(request.queryVector.values);
      return { resultPointIds };
    });
  },

  /** The gRPC interface of vectord. */
  async grpc(dimension) {
    const { serveGrpc } = await import('./vectord.mjs');
    return await serveGrpc(dimension);
  },

  /** koa as it is commonly used. */
  async koa() {
    const { default: Koa } = await import('koa');
    const { default: Router } = await import('@koa/router');
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

  /** The HTTP interface of vectord. */
  async http(dimension) {
    const { serveHttp } = await import('./vectord.mjs');
    return await serveHttp(dimension);
  },
};

/** What the transport asks about its calls, where nothing is refused or counted. */
const everythingGoes = {
  connect: () => ({
    noteReset: () => undefined,
    begin: () => ({
      refusal: undefined,
      watch: () => undefined,
      received: () => undefined,
      decoded: () => undefined,
      requestEnded: () => undefined,
      sending: () => undefined,
      answered: () => undefined,
      ended: () => undefined,
    }),
  }),
};

async function serveNiceGrpc(requestType, responseType, searchPoints) {
  const { createServer } = await import('nice-grpc');
  const method = { ...VectorDBDefinition.methods.searchPoints, requestType, responseType };
  const server = createServer();
  const search = async (request) => searchPoints(request);
  server.add(
    { ...VectorDBDefinition, methods: { searchPoints: method } },
    { searchPoints: search },
  );
  return await server.listen(`${LOCALHOST}:0`);
}

const [name, dimension] = process.argv.slice(2);
process.on('disconnect', () => process.exit());
process.send({ port: await RIVALS[name](Number(dimension)) });
