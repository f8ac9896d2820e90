// The client, a process of its own: asks one server at a time, over connections that stay open,
// each connection the next search once it has the answer to the last.
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:http2';
import { framed, LIMIT, SEARCH_PATH, searchMessage } from './search-message.mjs';

/** The ways to ask each server, one for each connection, by its name. */
const connectionsOf = new Map();

process.on('message', async ({ type, name, ...task }) => {
  if (type === 'open') connectionsOf.set(name, await open(task));
  process.send(type === 'ask' ? await ask(connectionsOf.get(name), task.durationMs) : {});
});

/** @param {{ kind: 'grpc' | 'http', port: number, key: string, connections: number, vectors: number[][], ef: number }} task */
async function open({ kind, port, key, connections, vectors, ef }) {
  const [make, openOne] = kind === 'grpc' ? [grpcBody, openGrpc] : [httpBody, openHttp];
  const bodies = vectors.map((vector) => make(vector, ef));
  return await Promise.all(
    Array.from({ length: connections }, async () => ({ bodies, send: await openOne(port, key) })),
  );
}

/** How many searches were answered in this time. */
async function ask(connections, durationMs) {
  const endMs = performance.now() + durationMs;
  let searches = 0;
  const keepAsking = async ({ bodies, send }) => {
    while (performance.now() < endMs) {
      await send(bodies[searches % bodies.length]);
      searches += 1;
    }
  };
  await Promise.all(connections.map(keepAsking));
  return { searches };
}

function grpcBody(values, ef) {
  return framed(searchMessage(values, ef));
}

/** Plain HTTP/2, which costs the client less than a gRPC library. */
async function openGrpc(port, key) {
  const session = connect(`http://127.0.0.1:${port}`);
  await once(session, 'connect');
  const headers = {
    ':method': 'POST',
    ':path': SEARCH_PATH,
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: key,
  };
  return (body) =>
    new Promise((resolve, reject) => {
      const stream = session.request(headers);
      stream.on('trailers', (trailers) => {
        if (trailers['grpc-status'] !== '0') reject(new Error(trailers['grpc-message']));
      });
      stream.on('error', reject).on('end', resolve).resume();
      stream.end(body);
    });
}

function httpBody(values, ef) {
  const query = { vector: values, similarity: 'Euclidean', limit: LIMIT, ef };
  return Buffer.from(JSON.stringify(query));
}

async function openHttp(port, key) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { 'api-key': key, 'content-type': 'application/json' };
  const options = { host: '127.0.0.1', port, method: 'POST', path: '/points/search', agent };
  return (body) =>
    new Promise((resolve, reject) => {
      const lengths = { ...headers, 'content-length': body.length };
      const call = request({ ...options, headers: lengths }, (response) => {
        const settle = response.statusCode === 200 ? resolve : reject;
        response.on('end', () => settle(new Error(`status ${response.statusCode}`))).resume();
      });
      call.on('error', reject).end(body);
    });
}
