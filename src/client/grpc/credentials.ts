import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { record, wrong } from '../checks.js';
import { InvalidArgumentError } from '../errors.js';

/** What a connection by TLS trusts and shows; each in PEM. */
export interface Tls {
  /** The certificates to trust, instead of those that Node.js trusts. */
  readonly ca?: string | Uint8Array | undefined;
  /** The certificate of the client, for a service with TLS_CLIENT_CA; needs its key. */
  readonly cert?: string | Uint8Array | undefined;
  /** The key of that certificate, without a passphrase. */
  readonly key?: string | Uint8Array | undefined;
}

/** The same as bytes; null for what is not given. */
export interface Certificates {
  readonly ca: Buffer | null;
  readonly cert: Buffer | null;
  readonly key: Buffer | null;
}

/** Throws an InvalidArgumentError for what cannot be used. */
export function certificatesOf(tls: Tls): Certificates {
  const given = record('tls', tls);
  const ca = pem('tls.ca', given.ca);
  const cert = pem('tls.cert', given.cert);
  const key = pem('tls.key', given.key);
  try {
    // A connection leaves out, without a word, what it cannot read of these.
    if (ca !== null) void new X509Certificate(ca);
    if ((cert === null) !== (key === null)) throw new Error('one of cert and key is missing');
    createSecureContext({ ca: ca ?? undefined, cert: cert ?? undefined, key: key ?? undefined });
    return { ca, cert, key };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const expected = 'certificates in PEM, and one of the client only with its key';
    throw new InvalidArgumentError(`tls cannot be used (${reason}), expected ${expected}`, {
      cause,
    });
  }
}

/** The message does not say what a text has: it may be a secret. */
function pem(field: string, value: string | Uint8Array | undefined): Buffer | null {
  if (value === undefined) return null;
  if (typeof value !== 'string' && !(value instanceof Uint8Array)) {
    throw wrong(field, value, 'PEM as a string or as bytes');
  }
  const bytes = Buffer.from(value);
  if (bytes.includes('-----BEGIN ')) return bytes;
  throw new InvalidArgumentError(`${field} cannot be used: it has no -----BEGIN, expected PEM`);
}
