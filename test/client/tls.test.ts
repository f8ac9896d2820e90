import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { connect, InvalidArgumentError, type Client, type Tls } from '../../src/client/node.js';
import { ROOT, run } from '../examples/run.js';
import { makeCertificate } from '../support/certificates.js';
import { ownFolder, Vectord } from '../support/vectord.js';
import { expectFailure } from './open.js';

const SERVER = makeCertificate('localhost');
const CA = makeCertificate('clients');
const KNOWN = makeCertificate('a client', { issuer: CA });

const KEY = 'the-key';
const ONCE = { retries: { attempts: 1 } };

/** A service by TLS; answers where its interfaces are. */
async function start(
  clientCa?: string,
  more: Record<string, string> = {},
): Promise<{ grpc: string; http: string; caPath: string }> {
  const { folder, environment } = ownFolder();
  const path = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const caPath = path('cert.pem', SERVER.cert);
  const vectord = await Vectord.start({
    ...environment,
    ...more,
    TLS_CERT: caPath,
    TLS_KEY: path('key.pem', SERVER.key),
    ...(clientCa === undefined ? {} : { TLS_CLIENT_CA: path('ca.pem', clientCa) }),
  });
  const port = (label: string): string => /:(\d+)/.exec(vectord.value(label).slice(6))?.[1] ?? '';
  const http = `https://localhost:${port('HTTP')}`;
  return { grpc: `grpcs://localhost:${port('gRPC')}`, http, caPath };
}

function open(address: string, tls?: Tls): Client {
  const client = connect(address, { key: KEY, tls, ...ONCE });
  onTestFinished(() => client.close());
  return client;
}

test('gRPC trusts the certificate that it is told to, as a text or as bytes', async () => {
  const { grpc } = await start();
  for (const ca of [SERVER.cert, Buffer.from(SERVER.cert)]) {
    const client = open(grpc, { ca });
    const { ids } = await client.upsert([{ vector: [1, 2, 3, 4] }]);
    expect((await client.delete(ids)).deleted).toBe(1);
  }
  await expectFailure(open(grpc).count(), 'CONNECTION_LOST', /certificate/i);
  const plain = open(grpc.replace('grpcs:', 'grpc:'));
  await expectFailure(plain.count(), 'CONNECTION_LOST', /no answer/);
});

test('the certificate of a service at an address must be for that address', async () => {
  const { grpc } = await start(undefined, { GRPC_HOST: '0.0.0.0' });
  const tls = { ca: SERVER.cert };
  const at = (address: string): Client => open(grpc.replace(/\/\/.+:/, `//${address}:`), tls);
  expect(await at('127.0.0.1').count()).toBe(0);
  await expectFailure(
    at('127.0.0.2').count(),
    'CONNECTION_LOST',
    /127\.0\.0\.2 is not in the cert/,
  );
});

test('gRPC shows a certificate to a service that asks for one', async () => {
  const { grpc } = await start(CA.cert);
  const ca = SERVER.cert;
  expect(await open(grpc, { ca, cert: KNOWN.cert, key: KNOWN.key }).count()).toBe(0);
  await expectFailure(open(grpc, { ca }).count(), 'CONNECTION_LOST', /no answer/);
});

test('HTTP trusts what the process does', async () => {
  const { http, caPath } = await start();
  await expectFailure(open(http).count(), 'CONNECTION_LOST', /certificate/i);
  const script = `
    import { connect } from 'vectord';
    console.log(await connect('${http}', { key: '${KEY}' }).count());`;
  const args = ['--input-type=module', '--eval', script];
  const trust = { NODE_EXTRA_CA_CERTS: caPath };
  const { stdout, stderr } = await run(process.execPath, args, { cwd: ROOT, env: trust });
  expect(stdout, stderr).toBe('0\n');
});

test('certificates that cannot be used are refused', () => {
  const broken = SERVER.cert.replace(/\n.{8}/, '\nAAAAAAAA');
  const { cert, key } = KNOWN;
  const refusals: [unknown, RegExp][] = [
    [{ ca: 'junk' }, /^tls\.ca cannot be used: it has no -----BEGIN/],
    [{ ca: broken }, /^tls cannot be used \(.+\), expected certificates in PEM/],
    [{ ca: 5 }, /^tls\.ca is 5, expected PEM as a string or as bytes/],
    [{ cert: 'junk', key }, /^tls\.cert cannot be used/],
    [{ cert: broken, key }, /^tls cannot be used/],
    [{ cert }, /^tls cannot be used/],
    [{ cert, key: SERVER.key }, /^tls cannot be used/],
    ['junk', /^tls is "junk", expected an object/],
  ];
  for (const [tls, message] of refusals) {
    const make = (): Client => connect('grpcs://localhost', { tls: tls as Tls });
    expect(make).toThrow(InvalidArgumentError);
    expect(make).toThrow(message);
  }
});

test('certificates are refused where they would not be used', () => {
  const tls = { ca: SERVER.cert };
  const http = (): Client => connect('https://localhost', { tls });
  expect(http).toThrow('expected certificates in the file that NODE_EXTRA_CA_CERTS names');
  for (const address of ['http://localhost', 'grpc://localhost']) {
    expect(() => connect(address, { tls })).toThrow('expected an address by TLS');
  }
});
