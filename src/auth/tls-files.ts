import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { fingerprint, versionOf } from '../config/file-watch.js';
import { messageOf, StartError } from '../core/start-error.js';
import { secretFileWarning } from './secret-file.js';

/** Where the files of TLS are. */
export interface TlsPaths {
  readonly tlsCert: string;
  readonly tlsKey: string;
  readonly tlsClientCa: string | undefined;
}

/** What the files hold, in PEM. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
  /** Who signs the certificates of clients, which then have to show one. */
  readonly ca?: string;
}

/** The certificate and its key, as their files have them. */
export class TlsFiles {
  readonly paths: readonly string[];
  #pair: TlsPair = { cert: '', key: '' };
  #version = '';
  #warnings: readonly string[] = [];

  private constructor(private readonly from: TlsPaths) {
    const { tlsCert, tlsKey, tlsClientCa } = from;
    this.paths = tlsClientCa === undefined ? [tlsCert, tlsKey] : [tlsCert, tlsKey, tlsClientCa];
  }

  /** Reads them; throws a StartError that says which one is wrong, and why. */
  static load(from: TlsPaths): TlsFiles {
    const files = new TlsFiles(from);
    files.reload();
    return files;
  }

  get pair(): TlsPair {
    return this.#pair;
  }

  /** The versions of the files that the pair comes from. */
  get version(): string {
    return this.#version;
  }

  /** Lines for the log about a pair that is taken and may not serve, or is not kept secret. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** Takes over what the files hold now; throws, and keeps what it had, if that is not right. */
  reload(): void {
    const { tlsCert, tlsKey, tlsClientCa } = this.from;
    const cert = readPem(`the certificate ${tlsCert} (TLS_CERT)`, tlsCert);
    const key = readPem(`the key ${tlsKey} (TLS_KEY)`, tlsKey);
    const certificate = parseCertificate(cert);
    if (!certificate.checkPrivateKey(parseKey(key))) {
      throw new StartError(`${key.what} is not that of ${cert.what}`);
    }
    const versions = [cert.version, key.version];
    let pair: TlsPair = { cert: cert.text, key: key.text };
    if (tlsClientCa !== undefined) {
      const ca = readPem(`the certificate ${tlsClientCa} (TLS_CLIENT_CA)`, tlsClientCa);
      parseCertificate(ca);
      versions.push(ca.version);
      pair = { ...pair, ca: ca.text };
    }
    try {
      createSecureContext(pair);
    } catch (error) {
      throw new StartError(`${cert.what} cannot be used: ${messageOf(error)}`);
    }
    this.#pair = pair;
    this.#version = versionOf(versions);
    const warnings = [
      secretFileWarning('TLS key', tlsKey, key.mode),
      timeWarning(cert.what, certificate),
    ];
    this.#warnings = warnings.filter((warning) => warning !== undefined);
  }
}

interface Pem {
  /** Names the file in messages. */
  readonly what: string;
  readonly text: string;
  readonly version: string;
  /** The permissions of the file. */
  readonly mode: number;
}

function readPem(what: string, path: string): Pem {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    // Taken before the text: a change between the two is seen as a change later on.
    const stats = fstatSync(file, { bigint: true });
    const text = readFileSync(file, 'utf8');
    return { what, text, version: fingerprint(stats), mode: Number(stats.mode) & 0o777 };
  } catch (error) {
    throw new StartError(`${what} cannot be read: ${messageOf(error)}`);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function parseCertificate({ what, text }: Pem): X509Certificate {
  try {
    if (text.includes('-----BEGIN')) return new X509Certificate(text);
  } catch {
    // Said below.
  }
  throw new StartError(`${what} holds no certificate in PEM`);
}

/** No message of node about it is passed on: this file is a secret. */
function parseKey({ what, text }: Pem): KeyObject {
  try {
    return createPrivateKey(text);
  } catch {
    const isEncrypted = text.includes('ENCRYPTED');
    throw new StartError(
      isEncrypted
        ? `${what} is encrypted, expected a key without a passphrase`
        : `${what} holds no private key in PEM`,
    );
  }
}

function timeWarning(what: string, { validFrom, validTo }: X509Certificate): string | undefined {
  const now = Date.now();
  if (Date.parse(validTo) < now) return `${what} has expired (${validTo}): clients will refuse it`;
  return Date.parse(validFrom) > now ? `${what} is not valid yet (${validFrom})` : undefined;
}
