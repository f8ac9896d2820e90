import { once } from 'node:events';
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';

/** The status of a call whose stream was closed without one. */
export const NO_STATUS = -1;

export interface OpenCall {
  readonly stream: ClientHttp2Stream;
  /** The grpc-status of its answer. */
  readonly status: Promise<number>;
  readonly closed: Promise<void>;
}

/** A connection whose calls are under the test's control, frame by frame. */
export class Connection {
  readonly session: ClientHttp2Session;

  constructor(address: string) {
    this.session = connect(`http://${address}`);
    // What matters is how each call ends.
    this.session.on('error', () => {});
    // What is still being written when a server cuts the connection fails, after its end.
    this.session.once('connect', (_, socket) => socket.on('error', () => {}));
  }

  /** Starts a call; what is sent on it and when it ends is the test's to say. */
  open(method: string, headers: Record<string, string> = {}): OpenCall {
    const stream = this.session.request({
      ':method': 'POST',
      ':path': method.startsWith('/') ? method : `/vectordb.VectorDB/${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    });
    stream.on('error', () => {});
    stream.resume();
    const status = new Promise<number>((resolve) => {
      for (const event of ['response', 'trailers'] as const) {
        stream.on(event, (received) => {
          const code = received['grpc-status'];
          if (code !== undefined) resolve(Number(code));
        });
      }
      stream.once('close', () => resolve(NO_STATUS));
    });
    const closed = new Promise<void>((resolve) => stream.once('close', () => resolve()));
    return { stream, status, closed };
  }

  /** A whole call with one message. */
  async call(method: string, headers: Record<string, string>, message: Buffer): Promise<number> {
    const { stream, status } = this.open(method, headers);
    stream.end(message);
    return await status;
  }

  /** Resolves once the server has received all that was sent so far. */
  async settled(): Promise<void> {
    if (this.session.connecting) await once(this.session, 'connect');
    await new Promise((resolve) => this.session.ping(resolve));
  }

  /** Later: a session that ends within an event of its own corrupts the memory of Node 20. */
  close(): void {
    setImmediate(() => this.session.destroy());
  }
}

/** A message as it goes over the wire: whether it is compressed, its length, its bytes. */
export function framed(bytes: Uint8Array, isCompressed = false): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = isCompressed ? 1 : 0;
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}
