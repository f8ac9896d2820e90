import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect as connectSocket, type AddressInfo } from 'node:net';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { run } from '../examples/run.js';
import { startServer, type TestServer } from '../support/server.js';

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});

const PROGRAM = `
  import { connect } from ${JSON.stringify(new URL('../../dist/client/node.js', import.meta.url).href)};
  const client = connect(process.argv[1], { key: process.env.VECTORD_KEY, retries: 0 });
  console.log(await client.count().catch(({ message }) => message));
  client.close();`;

/** What a client prints in a process whose environment has these variables. */
async function countAt(
  address: string,
  variables: Readonly<Record<string, string>>,
): Promise<string> {
  const env = { VECTORD_KEY: server.keys.readwrite, ...variables };
  const args = ['--input-type=module', '--eval', PROGRAM, address];
  const { stdout } = await run(process.execPath, args, { env });
  return stdout.trim();
}

/** A proxy that leads whatever is asked for to the gRPC port of the service. */
async function startProxy(): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const proxy: Server = createServer();
  proxy.on('connect', ({ url }, socket) => {
    asked.push(String(url));
    const [host, port] = server.grpc.split(':');
    const upstream = connectSocket(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () => socket.destroy());
    socket.on('error', () => upstream.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => void proxy.close());
  return { url: `http://user:secret@127.0.0.1:${(proxy.address() as AddressInfo).port}`, asked };
}

test('loopback is reached without the proxy of the environment, over gRPC and HTTP', async () => {
  const port = server.grpc.split(':')[1];
  const nowhere = { http_proxy: 'http://127.0.0.1:1', https_proxy: 'http://127.0.0.1:1' };
  for (const address of [`grpc://${server.grpc}`, `grpc://localhost:${port}`, server.http]) {
    expect(await countAt(address, nowhere)).toBe('0');
  }
});

test('a service elsewhere is reached through the proxy', async () => {
  const { url, asked } = await startProxy();
  expect(await countAt('grpc://vectord.invalid:50051', { http_proxy: url })).toBe('0');
  expect(asked).toEqual(['vectord.invalid:50051']);
});

test('a proxy that does not answer is named, without what it asks of users', async () => {
  const dead = { https_proxy: 'http://user:secret@127.0.0.1:1' };
  const message = await countAt('grpc://vectord.invalid:50051', dead);
  expect(message).toMatch(
    /^no answer came from the service: no connection was made \(through the proxy 127\.0\.0\.1:1, which https_proxy names; no_proxy names hosts/,
  );
  expect(message).not.toContain('secret');
});
