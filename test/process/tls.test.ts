import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, renameSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import {
  createChannel,
  createClient,
  ChannelCredentials,
  Metadata,
  waitForChannelReady,
} from 'nice-grpc';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { VectorDBDefinition } from '../../src/gen/vectordb/vectordb.js';
import { plainTextWarning } from '../../src/process/tls.js';
import { BEGIN, resetCalls } from '../grpc/raw-http2.js';
import { makeCertificate, type Certificate } from '../support/certificates.js';
import { findGrpcurl } from '../support/tools.mjs';
import { ownFolder, Vectord } from '../support/vectord.js';

const SERVER = makeCertificate('server');
const OTHER = makeCertificate('other');
const NO_POINT = '00000000-0000-4000-8000-000000000000';

let own: ReturnType<typeof ownFolder>;
let paths: { cert: string; key: string; ca: string };
let environment: Record<string, string>;

beforeEach(() => {
  own = ownFolder();
  paths = {
    cert: join(own.folder, 'cert.pem'),
    key: join(own.folder, 'key.pem'),
    ca: join(own.folder, 'ca.pem'),
  };
  write(SERVER);
  environment = { ...own.environment, TLS_CERT: paths.cert, TLS_KEY: paths.key };
});

function write({ cert, key }: Certificate): void {
  writeFileSync(paths.cert, cert);
  writeFileSync(paths.key, key, { mode: 0o600 });
}

function portOf(address: string): number {
  return Number(/\d+$/.exec(address.replace(' (TLS)', ''))?.[0]);
}

/** The status of a GET, through node:https. */
async function get(vectord: Vectord, options: object = { ca: SERVER.cert }): Promise<number> {
  const port = portOf(vectord.value('HTTP'));
  const asked = request({ host: '127.0.0.1', port, path: '/health', agent: false, ...options });
  asked.end();
  const [response] = await once(asked, 'response');
  response.resume();
  return response.statusCode;
}

/** Asks for a point that is not there, through nice-grpc; the answer is NOT_FOUND. */
async function call(vectord: Vectord, ca = SERVER, client?: Certificate): Promise<void> {
  const [root, key, cert] = [ca.cert, client?.key ?? null, client?.cert ?? null].map((pem) =>
    pem === null ? null : Buffer.from(pem),
  );
  const credentials = ChannelCredentials.createSsl(root, key, cert);
  // Node.js 26 refuses an IP address as the name of a server.
  const channel = createChannel(`localhost:${portOf(vectord.value('gRPC'))}`, credentials);
  onTestFinished(() => channel.close());
  await waitForChannelReady(channel, new Date(Date.now() + 5_000));
  const metadata = Metadata({ authorization: 'the-key' });
  const asked = createClient(VectorDBDefinition, channel).getPoint(
    { id: { value: NO_POINT } },
    { metadata },
  );
  await expect(asked).rejects.toThrow('NOT_FOUND');
}

/** A handshake, and the protocol that it agreed on. */
async function handshake(port: number, options: ConnectionOptions): Promise<TLSSocket> {
  const socket = connectTls({ host: '127.0.0.1', port, ca: SERVER.cert, ...options });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

async function run(program: string, args: readonly string[], env = {}): Promise<string> {
  const stdio = ['ignore', 'pipe', 'pipe'] as const;
  const child = spawn(program, args, { stdio: [...stdio], env: { ...process.env, ...env } });
  const [output, faults] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return output + faults;
}

test('both interfaces speak TLS, and nothing else', async () => {
  const vectord = await Vectord.start(environment);
  expect(vectord.value('HTTP')).toMatch(/^https:\/\//);
  expect(await get(vectord)).toBe(200);
  await call(vectord);
  for (const label of ['HTTP', 'gRPC']) {
    const socket = connectPlain(portOf(vectord.value(label)), '127.0.0.1');
    socket.on('error', () => {});
    socket.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await text(socket).catch(() => '')).not.toContain('OK');
  }
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });
});

test('curl and fetch are served', async () => {
  const vectord = await Vectord.start(environment);
  const url = `${vectord.value('HTTP')}/health`;
  expect(await run('curl', ['-sS', '--cacert', paths.cert, url])).toBe('OK');
  const script = `fetch('${url}').then((r) => r.text()).then(console.log)`;
  const trust = { NODE_EXTRA_CA_CERTS: paths.cert };
  expect((await run(process.execPath, ['-e', script], trust)).trim()).toBe('OK');
});

const grpcurl = findGrpcurl();
test.skipIf(grpcurl === undefined)('grpcurl is served', async () => {
  const vectord = await Vectord.start(environment);
  const address = `127.0.0.1:${portOf(vectord.value('gRPC'))}`;
  const listed = await run(grpcurl ?? '', ['-cacert', paths.cert, address, 'list']);
  expect(listed).toContain('vectordb.VectorDB');
});

test('versions before TLS 1.2 and another protocol than HTTP/2 for gRPC are refused', async () => {
  // OpenSSL would refuse the old versions by itself, for their weak ciphers.
  const weak = { NODE_OPTIONS: '--tls-cipher-list=DEFAULT@SECLEVEL=0' };
  const vectord = await Vectord.start({ ...environment, ...weak });
  const grpc = portOf(vectord.value('gRPC'));
  const old = {
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  } as const;
  await expect(handshake(grpc, { ...old, ALPNProtocols: ['h2'] })).rejects.toThrow(
    /alert|protocol|ECONNRESET|closed/i,
  );
  await expect(handshake(grpc, { ALPNProtocols: ['http/1.1'] })).rejects.toThrow(
    /alert|protocol|ECONNRESET|closed/i,
  );
  const unnamed = await handshake(grpc, {});
  await once(unnamed.resume(), 'close');
  expect((await handshake(grpc, { ALPNProtocols: ['h2'] })).alpnProtocol).toBe('h2');
  const http = portOf(vectord.value('HTTP'));
  expect((await handshake(http, { maxVersion: 'TLSv1.2' })).getProtocol()).toBe('TLSv1.2');
});

test('with TLS_CLIENT_CA a client needs a certificate of it, besides the key', async () => {
  const ca = makeCertificate('clients');
  writeFileSync(paths.ca, ca.cert);
  const vectord = await Vectord.start({ ...environment, TLS_CLIENT_CA: paths.ca });
  const known = makeCertificate('a client', { issuer: ca });
  const asServer = { ca: SERVER.cert };
  expect(await get(vectord, { ...asServer, cert: known.cert, key: known.key })).toBe(200);
  await call(vectord, SERVER, known);
  await expect(get(vectord)).rejects.toThrow(/alert|certificate|socket hang up|ECONNRESET/i);
  await expect(get(vectord, { ...asServer, cert: OTHER.cert, key: OTHER.key })).rejects.toThrow(
    /alert|certificate|socket hang up|ECONNRESET/i,
  );
  const { cert, key } = OTHER;
  const port = portOf(vectord.value('gRPC'));
  // In TLS 1.3 a client is done before its certificate is looked at.
  const refused = await handshake(port, { ALPNProtocols: ['h2'], cert, key });
  expect(await text(refused)).toBe('');
  const failures = (name: string): number =>
    vectord.stderr.split(`"interface":"${name}","reason":"handshake"`).length - 1;
  await vectord.until(() => failures('http') === 2 && failures('grpc') === 1);
});

test('a handshake that fails is counted and logged, and not one that the client gives up', async () => {
  const vectord = await Vectord.start({ ...environment, METRICS_OPEN: 'on' });
  const http = portOf(vectord.value('HTTP'));
  const grpc = portOf(vectord.value('gRPC'));
  const slow = connectPlain(http, '127.0.0.1');
  slow.write('\u0016');
  onTestFinished(() => void slow.destroy());
  const gone = connectPlain(http, '127.0.0.1');
  await once(gone, 'connect');
  gone.destroy();
  const plain = connectPlain(http, '127.0.0.1');
  plain.on('error', () => {});
  plain.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(plain.resume(), 'close');
  await once((await handshake(grpc, {})).resume(), 'close');
  await expect(handshake(grpc, { ALPNProtocols: ['http/1.1'] })).rejects.toThrow(/alert/);
  // One that has begun has ten seconds.
  await once(slow.resume(), 'close');
  const script = `fetch('${vectord.value('HTTP')}/metrics').then((r) => r.text()).then(console.log)`;
  const trust = { NODE_EXTRA_CA_CERTS: paths.cert };
  const metrics = await run(process.execPath, ['-e', script], trust);
  for (const name of ['http', 'grpc']) {
    expect(metrics).toContain(`vectord_${name}_connections_closed_total{reason="handshake"} 2\n`);
    const line = `"interface":"${name}","reason":"handshake","address":"127.0.0.1"`;
    expect(vectord.stderr.split(line)).toHaveLength(3);
  }
});

describe('a certificate that changes', () => {
  test('is taken over by both interfaces, with its key that comes later', async () => {
    const vectord = await Vectord.start(environment);
    const kept = await handshake(portOf(vectord.value('HTTP')), {});
    for (const name of ['cert', 'key'] as const) {
      writeFileSync(`${paths[name]}.new`, OTHER[name]);
      renameSync(`${paths[name]}.new`, paths[name]);
    }
    await vectord.until(() => vectord.stderr.includes('certificate read again'));
    expect(await get(vectord, { ca: OTHER.cert })).toBe(200);
    await call(vectord, OTHER);
    await expect(get(vectord)).rejects.toThrow(/alert|certificate|socket hang up|ECONNRESET/i);
    kept.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(String(await once(kept, 'data'))).toContain('200 OK');
    expect(vectord.stderr).not.toContain('refused');
  });

  test('is refused loudly on SIGHUP if it is bad: the old one stays', async () => {
    const vectord = await Vectord.start(environment);
    writeFileSync(paths.key, OTHER.key);
    vectord.process.kill('SIGHUP');
    await vectord.until(() => vectord.stderr.includes('certificate refused'));
    expect(vectord.stderr).toContain('is not that of the certificate');
    expect(vectord.stderr).not.toContain('PRIVATE KEY');
    expect(await get(vectord)).toBe(200);
    writeFileSync(paths.cert, OTHER.cert);
    await vi.waitFor(async () => expect(await get(vectord, { ca: OTHER.cert })).toBe(200), 5_000);
  });
});

describe('a start is refused', () => {
  test.each<[string, () => void, string]>([
    ['a missing file', () => renameSync(paths.cert, paths.ca), '(TLS_CERT) cannot be read: ENOENT'],
    ['no PEM', () => writeFileSync(paths.cert, 'x'), '(TLS_CERT) holds no certificate in PEM'],
    [
      'no key',
      () => writeFileSync(paths.key, SERVER.cert),
      '(TLS_KEY) holds no private key in PEM',
    ],
    [
      'the key of another',
      () => writeFileSync(paths.key, OTHER.key),
      '(TLS_KEY) is not that of the certificate',
    ],
    ['a bad CA', () => writeFileSync(paths.ca, ''), '(TLS_CLIENT_CA) holds no certificate in PEM'],
  ])('on %s', async (_, spoil, message) => {
    writeFileSync(paths.ca, OTHER.cert);
    spoil();
    const vectord = new Vectord({ ...environment, TLS_CLIENT_CA: paths.ca });
    expect((await vectord.exit).code).toBe(1);
    expect(vectord.stderr).toContain(message);
  });

  test.each(['TLS_CERT', 'TLS_KEY'])('where %s is not set', async (name) => {
    const rest = Object.entries(environment).filter(([key]) => key !== name);
    const vectord = new Vectord(Object.fromEntries(rest));
    expect((await vectord.exit).code).toBe(2);
    expect(vectord.stderr).toContain(`${name} is not set`);
  });
});

test('an expired certificate is a warning', async () => {
  write(makeCertificate('old', { validFor: -1 }));
  const vectord = await Vectord.start(environment);
  expect(vectord.stderr).toMatch(/"level":"warn".*has expired/);
});

test('a key that every user may read is a warning, at the start and when it is read again', async () => {
  chmodSync(paths.key, 0o604);
  const vectord = await Vectord.start(environment);
  const warned = (mode: string): string =>
    `every user of this machine can read the TLS key ${paths.key} ` +
    `(mode ${mode}): chmod o-r ${paths.key}`;
  expect(vectord.stderr).toContain(warned('604'));
  chmodSync(paths.key, 0o640);
  await vectord.until(() => vectord.stderr.includes('certificate read again'));
  chmodSync(paths.key, 0o644);
  await vectord.until(() => vectord.stderr.includes(warned('644')));
  expect(vectord.stderr).not.toContain(warned('640'));
});

test('limits of a connection hold within TLS', async () => {
  const vectord = await Vectord.start(environment);
  const socket = await handshake(portOf(vectord.value('gRPC')), { ALPNProtocols: ['h2'] });
  socket.on('error', () => {});
  socket.write(Buffer.concat([BEGIN, resetCalls('/grpc.health.v1.Health/Check', 1, 100)]));
  await once(socket.resume(), 'close');
  await vectord.until(() => vectord.stderr.includes('"reason":"resets"'));
  const pipelining = await handshake(portOf(vectord.value('HTTP')), {});
  pipelining.on('error', () => {});
  pipelining.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(500));
  await once(pipelining.resume(), 'close');
  await vectord.until(() => vectord.stderr.includes('"reason":"pipelining"'));
  expect(await get(vectord)).toBe(200);
});

test('a hundred clients that connect at once are all answered', async () => {
  const vectord = await Vectord.start({ ...environment, LOOPS: '1' });
  const answers = Array.from({ length: 100 }, async () => await get(vectord));
  expect(new Set(await Promise.all(answers))).toEqual(new Set([200]));
});

test('handshakes that go no further keep nobody out', async () => {
  const vectord = await Vectord.start({ ...environment, MAX_CONNECTIONS: '12' });
  for (const label of ['HTTP', 'gRPC']) {
    for (let count = 0; count < 12; count += 1) {
      const socket = connectPlain(portOf(vectord.value(label)), '127.0.0.1');
      socket.on('error', () => {});
      onTestFinished(() => void socket.destroy());
    }
  }
  await vi.waitFor(async () => expect(await get(vectord)).toBe(200), 10_000);
  await vi.waitFor(async () => await call(vectord), 10_000);
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });
}, 30_000);

test.each([
  ['0.0.0.0:3000', true],
  ['[::]:3000', true],
  ['192.0.2.1:3000', true],
  ['127.0.0.1:3000', false],
  ['127.9.9.9:3000', false],
  ['[::1]:3000', false],
])('without TLS %s is warned about: %s', (address, isWarned) => {
  expect(plainTextWarning('HTTP', address) !== undefined).toBe(isWarned);
});
