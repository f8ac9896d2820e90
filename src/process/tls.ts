import { resolve } from 'node:path';
import { TlsFiles } from '../auth/tls-files.js';
import type { Config } from '../config/config.js';
import type { Logger } from '../observe/logger.js';

/**
 * The certificate and its key, where TLS is on; throws a StartError where they are not right.
 */
export function openTls(config: Config, logger: Logger): TlsFiles | undefined {
  const { tlsCert, tlsKey, tlsClientCa } = config;
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  const files = TlsFiles.load({
    tlsCert: resolve(tlsCert),
    tlsKey: resolve(tlsKey),
    tlsClientCa: tlsClientCa === undefined ? undefined : resolve(tlsClientCa),
  });
  for (const warning of files.warnings) logger.warn(warning);
  return files;
}

const LOOPBACK = /^(?:127\.|\[::1\]|\[::ffff:127\.)/;

/** What is wrong with an interface that others reach, and that has no TLS; undefined of any other. */
export function plainTextWarning(prefix: 'HTTP' | 'GRPC', address: string): string | undefined {
  if (LOOPBACK.test(address)) return undefined;
  return (
    `keys and data cross the network unencrypted on ${address}: set TLS_CERT and TLS_KEY, or ` +
    `${prefix}_HOST to 127.0.0.1 and a proxy with TLS before it`
  );
}
