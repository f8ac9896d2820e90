import type { Socket } from 'node:net';
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls';

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

  constructor(pair: SecureContextOptions, protocol: Protocol) {
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
      if (done !== undefined && isRight) done(socket);
      else socket.destroy();
    });
    this.#server.on('tlsClientError', (_, socket) => socket.destroy());
  }

  /** Calls `done` when both sides are sure of each other; else the connection is closed. */
  begin(socket: Socket, done: (socket: TLSSocket) => void): void {
    const ends = endsOf(socket);
    this.#underWay.set(ends, done);
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

function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
