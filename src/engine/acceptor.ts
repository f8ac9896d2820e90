import { Socket } from 'node:net';
import native from '../../native/index.cjs';

export interface BindOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Connections at one time; others are closed at once. */
  readonly maxConnections: number;
}

/** What becomes of connections that no loop gets. */
export interface RefusalListener {
  /** A connection was closed, because as many as allowed are open. */
  onRefused(remoteAddress: string): void;
  /** Nothing could be accepted, for example because the process has no file descriptor left. */
  onFailed(reason: string): void;
}

/**
 * The port of one interface. A thread of its own accepts connections, and hands each to the loop
 * that has the fewest.
 */
export class Acceptor {
  private constructor(private readonly acceptor: native.NativeAcceptor) {}

  /** Opens the port, where nothing is accepted yet; rejects where that is impossible. */
  static async bind({ host, port, maxConnections }: BindOptions): Promise<Acceptor> {
    return new Acceptor(await native.NativeAcceptor.bind(host, port, maxConnections));
  }

  /** The acceptor that another loop has shared under this number. */
  static shared(number: number): Acceptor {
    return new Acceptor(native.NativeAcceptor.shared(number));
  }

  /** A number under which other loops find it. */
  share(): number {
    return this.acceptor.share();
  }

  /** The IP address that it is bound to. */
  get address(): string {
    return this.acceptor.address;
  }

  get port(): number {
    return this.acceptor.port;
  }

  /** Whether as many connections are open as may be: one more would be refused. */
  get isFull(): boolean {
    return this.acceptor.isFull;
  }

  /** Makes the calling loop one of those that get connections. */
  receive(onConnection: (connection: Accepted) => void): void {
    this.acceptor.receive((connection) => onConnection(new Accepted(connection)));
  }

  /** Begins to accept. */
  start({ onRefused, onFailed }: RefusalListener): void {
    this.acceptor.start(({ address, failure }) => {
      if (address !== undefined) onRefused(address);
      if (failure !== undefined) onFailed(failure);
    });
  }

  /** Accepts nothing more and closes the port. Connections stay open. */
  close(): void {
    this.acceptor.close();
  }
}

/** A connection that is not read yet. It takes a place of its port until it is closed. */
export class Accepted {
  constructor(private readonly connection: native.AcceptedConnection) {}

  get remoteAddress(): string | undefined {
    return this.connection.remoteAddress ?? undefined;
  }

  /**
   * The socket, which is read from the next turn of the loop on; undefined where its client has gone.
   * `allowHalfOpen` says whether a client may close its side and still get its answer.
   */
  open(allowHalfOpen: boolean): Socket | undefined {
    const { connection } = this;
    const socket = socketOf(connection.fd, allowHalfOpen);
    if (socket === undefined) {
      connection.end();
      return undefined;
    }
    connection.take();
    return socket.once('close', () => connection.end());
  }

  /** Closes a connection that was not opened. */
  close(): void {
    this.connection.end();
  }
}

/** Node throws where the system does not tell any more what a descriptor is: macOS, after a reset. */
function socketOf(fd: number, allowHalfOpen: boolean): Socket | undefined {
  try {
    return new Socket({ fd, readable: true, writable: true, allowHalfOpen });
  } catch {
    return undefined;
  }
}
