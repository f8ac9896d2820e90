import { isIPv6 } from 'node:net';
import { VERSION } from '../config/version.js';

/** What the operator wants to know of a service that has just started. */
export interface StartSummary {
  readonly http: Address;
  readonly grpc: Address;
  /** Whether both have TLS. */
  readonly hasTls: boolean;
  /** Whether the HTTP interface has the console. */
  readonly hasConsole: boolean;
  readonly dimension: number;
  readonly dimensionOrigin: string;
  readonly points: number;
  readonly dataPath: string;
  readonly keysPath: string;
  readonly keysOrigin: string;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The start block: one label and one value a line, for people and scripts alike. */
export function banner(summary: StartSummary): string {
  const http = `${summary.hasTls ? 'https' : 'http'}://${formatAddress(summary.http)}`;
  const lines = [
    ['HTTP', http],
    ['gRPC', `${formatAddress(summary.grpc)}${summary.hasTls ? ' (TLS)' : ''}`],
    ...(summary.hasConsole ? [['console', `${http}/console`]] : []),
    ['dimension', `${summary.dimension} (${summary.dimensionOrigin})`],
    ['points', String(summary.points)],
    ['data', summary.dataPath],
    ['keys', `${summary.keysPath} (${summary.keysOrigin})`],
  ].map(([label = '', value]) => `  ${label.padEnd(12)}${value}`);
  return [`vectord ${VERSION}`, ...lines, 'ready', ''].join('\n');
}

/** The same for the log, which may be all that is kept of a start. */
export function startFacts({ http, grpc, hasTls, ...summary }: StartSummary) {
  const { dimension, points, dataPath } = summary;
  return {
    version: VERSION,
    httpHost: http.host,
    httpPort: http.port,
    grpcHost: grpc.host,
    grpcPort: grpc.port,
    tls: hasTls,
    dimension,
    points,
    dataPath,
  };
}

/** `host:port`, the host in brackets where its own colons would mislead. */
export function formatAddress({ host, port }: Address): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}
