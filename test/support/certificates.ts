import {
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  type KeyObject,
} from 'node:crypto';

/** A certificate and its key, in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly name: string;
  readonly privateKey: KeyObject;
}

export interface CertificateOptions {
  /** Who signs it; itself unless told otherwise. */
  readonly issuer?: Certificate;
  /** Days from now on. */
  readonly validFor?: number;
}

const DAY_MS = 86_400_000;
const ECDSA_WITH_SHA256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));

/** A certificate for localhost and 127.0.0.1, which may sign others. */
export function makeCertificate(
  name: string,
  { issuer, validFor = 1 }: CertificateOptions = {},
): Certificate {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const now = Date.now();
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    nameOf(issuer?.name ?? name),
    sequence(time(now - 2 * DAY_MS), time(now + validFor * DAY_MS)),
    nameOf(name),
    createPublicKey(privateKey).export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(basicConstraints(), alternativeNames())),
  );
  const signature = sign('sha256', body, issuer?.privateKey ?? privateKey);
  const bits = der(0x03, Buffer.concat([Buffer.from([0]), signature]));
  const cert = sequence(body, ECDSA_WITH_SHA256, bits).toString('base64');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${cert.replaceAll(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    name,
    privateKey,
  };
}

function basicConstraints(): Buffer {
  const isCa = sequence(der(0x01, Buffer.from([0xff])));
  return sequence(oid(0x55, 0x1d, 0x13), der(0x04, isCa));
}

function alternativeNames(): Buffer {
  const names = sequence(
    der(0x82, Buffer.from('localhost')),
    der(0x87, Buffer.from([127, 0, 0, 1])),
  );
  return sequence(oid(0x55, 0x1d, 0x11), der(0x04, names));
}

function nameOf(commonName: string): Buffer {
  const pair = sequence(oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from(commonName)));
  return sequence(der(0x31, pair));
}

function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/\D/g, '').slice(2, 14);
  return der(0x17, Buffer.from(`${digits}Z`));
}

function oid(...bytes: number[]): Buffer {
  return der(0x06, Buffer.from(bytes));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

/** A value of DER: its tag, its length and its content. */
function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const long = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...(length < 0x80 ? [length] : long)]), content]);
}
