import type { Socket } from 'node:net';
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls';
import type { ConnectionStats } from '../observe/connection-stats.js';

/** A handshake takes two round trips, and some milliseconds of work. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

const MIN_VERSION = 'TLSv1.2';

/** What TLS says of the protocol within. */
export type Protocol = 'http/1.1' | 'h2';

/** The handshakes of TLS of one interface. What comes out of them is served like any socket. */
export class Handshakes {
  readonly #server: Server;
  /** What goes on with each connection, by its ends: a TLSSocket does not tell what it wraps. */
  readonly #underWay = new Map<string, (socket: TLSSocket) => void>();

  constructor(pair: SecureContextOptions, protocol: Protocol, stats: ConnectionStats) {
    const wantsClientCertificate = pair.ca !== undefined;
    this.#server = createServer({
      ...pair,
      minVersion: MIN_VERSION,
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      ALPNProtocols: [protocol],
      requestCert: wantsClientCertificate,
      rejectUnauthorized: wantsClientCertificate,
    });
    this.#server.on('secureConnection', (socket) => {
      const done = this.#underWay.get(endsOf(socket));
      this.#underWay.delete(endsOf(socket));
      // Clients of HTTP/1.1 need not name it.
      const isRight = protocol === 'http/1.1' || socket.alpnProtocol === protocol;
      if (done !== undefined && isRight) {
        done(socket);
        return;
      }
      if (done !== undefined) stats.noteClosed('handshake', socket.remoteAddress);
      socket.destroy();
    });
    this.#server.on('tlsClientError', (error, socket) => {
      if (hasFailed(error, socket)) stats.noteClosed('handshake', socket.remoteAddress);
      socket.destroy();
    });
  }

  /** Calls `done` when both sides are sure of each other; else the connection is closed. */
  begin(socket: Socket, done: (socket: TLSSocket) => void): void {
    const ends = endsOf(socket);
    this.#underWay.set(ends, done);
    // As in node:https: a client that closes its side has gone, within the handshake too.
    socket.allowHalfOpen = false;
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      if (this.#underWay.get(ends) === done) this.#underWay.delete(ends);
    });
    this.#server.emit('connection', socket);
  }

  /** From now on handshakes have this certificate; connections go on with theirs. */
  setPair(pair: SecureContextOptions): void {
    this.#server.setSecureContext({ ...pair, minVersion: MIN_VERSION });
  }
}

/**
 * Whether the handshake itself has failed, and not because the client has gone or the connection was
 * closed for another reason. A client whose certificate is refused looks like one that has gone, and
 * its address is not known any more.
 */
function hasFailed({ code }: NodeJS.ErrnoException, { authorizationError }: TLSSocket): boolean {
  return code?.startsWith('ERR_') === true || authorizationError !== null;
}

function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
