import { resolve } from 'node:path';
import { Handshakes } from '../admission/handshakes.js';
import { TlsFiles } from '../auth/tls-files.js';
import { watchTls } from '../auth/tls-watch.js';
import type { Config } from '../config/config.js';
import type { Clock } from '../core/clock.js';
import type { Logger } from '../observe/logger.js';

/** TLS of both interfaces, where it is on. */
export interface Tls {
  readonly http: Handshakes;
  readonly grpc: Handshakes;
  /** Reads the certificate and its key again. */
  reload(): void;
  close(): void;
}

/** Reads the certificate and its key; throws a StartError where they are not right. */
export function openTls(config: Config, logger: Logger, clock: Clock): Tls | undefined {
  const { tlsCert, tlsKey, tlsClientCa } = config;
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  const files = TlsFiles.load({
    tlsCert: resolve(tlsCert),
    tlsKey: resolve(tlsKey),
    tlsClientCa: tlsClientCa === undefined ? undefined : resolve(tlsClientCa),
  });
  for (const warning of files.warnings) logger.warn(warning);
  const http = new Handshakes(files.pair, 'http/1.1');
  const grpc = new Handshakes(files.pair, 'h2');
  const take = (pair: typeof files.pair): void => {
    http.setPair(pair);
    grpc.setPair(pair);
  };
  const watch = watchTls(files, take, logger, clock);
  return { http, grpc, reload: () => watch.reload(), close: () => watch.close() };
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
