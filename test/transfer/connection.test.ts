import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { makeCertificate } from '../support/certificates.js';
import { ownFolder, Vectord } from '../support/vectord.js';
import { endOf, fileOf, type Ended } from './command.js';

const CERTIFICATE = makeCertificate('localhost');
const KEY = { VECTORD_KEY: 'the-key' };

interface Service {
  /** `host:port` of each interface. */
  readonly http: string;
  readonly grpc: string;
}

async function startService(more: Record<string, string> = {}): Promise<Service> {
  const vectord = await Vectord.start({ ...ownFolder().environment, ...more });
  const at = (label: string): string => /127\.0\.0\.1:\d+/.exec(vectord.value(label))?.[0] ?? '';
  return { http: at('HTTP'), grpc: at('gRPC') };
}

async function startByTls(): Promise<Service & { readonly caPath: string }> {
  const caPath = fileOf('cert.pem', CERTIFICATE.cert);
  const keyPath = fileOf('key.pem');
  writeFileSync(keyPath, CERTIFICATE.key, { mode: 0o600 });
  return { ...(await startService({ TLS_CERT: caPath, TLS_KEY: keyPath })), caPath };
}

async function exported(url: string, ...options: string[]): Promise<Ended> {
  const args = ['export', fileOf('all.jsonl'), '--url', url, ...options];
  return await endOf(new Vectord(KEY, args));
}

test('with the authority a service by TLS is found at its address, and nothing is warned of', async () => {
  const { grpc, caPath } = await startByTls();
  expect(await exported(`grpcs://${grpc}`, '--ca-file', caPath)).toMatchObject({
    code: 0,
    stderr: '',
  });
});

test.each([
  ['grpcs', /: self-signed certificate.* \(--ca-file names the file of the authority/],
  ['https', /: self-signed certificate.* \(the variable NODE_EXTRA_CA_CERTS names the file/],
  ['grpc', /\(is it running at grpc:\S+ by TLS the address is grpcs:\/\/127\.0\.0\.1:\d+\)/],
  ['http', /\(is it running at http:\S+ by TLS the address is https:\/\/127\.0\.0\.1:\d+\)/],
])('to a service by TLS, %s:// says what is missing', async (scheme, message) => {
  const { http, grpc } = await startByTls();
  const isHttp = scheme.startsWith('http');
  const url = `${scheme}://${isHttp ? http : grpc}`;
  const { code, stderr } = await exported(url);
  expect(stderr).toMatch(message);
  expect(stderr.trim()).not.toContain('\n');
  expect(code).toBe(1);
  if (!isHttp) return;
  const top = await endOf(new Vectord(KEY, ['top', '--once', '--url', url]));
  expect(top.stderr).toMatch(message);
});

test.each(['grpcs', 'https'])(
  'to a service without TLS, %s:// says that it has none',
  async (scheme) => {
    const { http, grpc } = await startService();
    const host = scheme === 'https' ? http : grpc;
    const { code, stderr } = await exported(`${scheme}://${host}`);
    expect(stderr).toMatch(/: what answers does not speak TLS \([a-z ]+\) \(without TLS/);
    expect(stderr).toContain(`the address is ${scheme.slice(0, -1)}://${host})\n`);
    expect(stderr.trim()).not.toContain('\n');
    expect(code).toBe(1);
  },
);

test('certificates for https:// are named by the variable that takes them', async () => {
  const caPath = fileOf('cert.pem', CERTIFICATE.cert);
  const { code, stderr } = await exported('https://127.0.0.1:4', '--ca-file', caPath);
  expect(stderr).toContain('where the variable NODE_EXTRA_CA_CERTS names the file instead');
  expect(code).toBe(2);
});
