import { X509Certificate } from 'node:crypto';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { ChannelCredentials } from 'nice-grpc';
import { record, wrong } from '../checks.js';
import { InvalidArgumentError } from '../errors.js';

/** What a connection by TLS trusts and shows; each in PEM. */
export interface Tls {
  /** The certificates to trust, instead of those that Node.js trusts. */
  readonly ca?: string | Uint8Array | undefined;
  /** The certificate of the client, for a service with TLS_CLIENT_CA; needs its key. */
  readonly cert?: string | Uint8Array | undefined;
  readonly key?: string | Uint8Array | undefined;
}

/**
 * Those of a connection by TLS; with `address`, the certificate of the service must be for it, whatever
 * name the channel has. Throws an InvalidArgumentError for what cannot be used.
 */
export function credentialsOf(tls: Tls, address?: string): ChannelCredentials {
  const { ca, cert, key } = record('tls', tls);
  const [trusted, own, secret] = [pem('tls.ca', ca), pem('tls.cert', cert), pem('tls.key', key)];
  try {
    // A connection leaves out, without a word, what it cannot read of these.
    if (trusted !== null) void new X509Certificate(trusted);
    return ChannelCredentials.createSsl(trusted, secret, own, {
      ...(address !== undefined && {
        checkServerIdentity: (_: string, found: PeerCertificate) =>
          checkServerIdentity(address, found),
      }),
    });
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
