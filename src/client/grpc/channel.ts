import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { ChannelCredentials, createChannel, type Channel } from 'nice-grpc';
import type { Certificates } from './credentials.js';
import { hostOf } from './proxy.js';

const OPTIONS = {
  // The service bounds its answers itself, by MAX_REQUEST_BYTES.
  'grpc.max_receive_message_length': -1,
  // Calls that the service has begun are repeated by the client, which knows which of them may be. The
  // channel sends others once more: those that met the end of their connection on their way.
  'grpc.enable_retries': 1,
  // Soon after the service is back, so is the connection.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  // A machine that is gone without a word is noticed.
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 10_000,
  // Names are looked up for addresses alone.
  'grpc.service_config_disable_resolution': 1,
  // More than 64 KiB on their way at a time: a long line carries a page without a pause.
  'grpc-node.flow_control_window': 4 * 1024 * 1024,
};

/** The same where another service may answer: a frozen one is noticed within seconds. */
const WATCHED_OPTIONS = {
  ...OPTIONS,
  // How long a new connection may take; 20 s unless told otherwise.
  'grpc.min_reconnect_backoff_ms': 3_000,
  'grpc.keepalive_time_ms': 2_000,
  'grpc.keepalive_timeout_ms': 3_000,
};

/**
 * What the service hears as the name that is meant where that is an address: TLS has none, and Node.js
 * warns of an address in its place, or refuses it. The certificate is held against the address.
 */
const NO_NAME = 'address.invalid';

/** How a channel is opened. */
export interface ChannelSettings {
  /** `host:port`. */
  readonly target: string;
  /** undefined: without TLS. */
  readonly tls: Certificates | undefined;
  /** Whether a call ends where the service is frozen meanwhile: another one may answer it. */
  readonly isWatched: boolean;
  /** Whether a proxy that the environment names stands between. */
  readonly hasProxy: boolean;
}

/** Connects with the first call. */
export function openChannel({ target, tls, isWatched, hasProxy }: ChannelSettings): Channel {
  const options = {
    ...(isWatched ? WATCHED_OPTIONS : OPTIONS),
    'grpc.enable_http_proxy': hasProxy ? 1 : 0,
  };
  if (tls === undefined) return createChannel(target, ChannelCredentials.createInsecure(), options);
  const { ca, cert, key } = tls;
  const host = hostOf(target);
  if (isIP(host) === 0) {
    return createChannel(target, ChannelCredentials.createSsl(ca, key, cert), options);
  }
  const credentials = ChannelCredentials.createSsl(ca, key, cert, {
    checkServerIdentity: (_: string, found: PeerCertificate) => checkServerIdentity(host, found),
  });
  const named = { ...options, 'grpc.ssl_target_name_override': NO_NAME };
  return createChannel(target, credentials, named);
}
