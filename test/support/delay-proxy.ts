import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A line to a server on this machine: it takes its time, and carries as much as is sent. */
export class DelayProxy {
  /** Connections that clients have opened so far. */
  connections = 0;
  /** Bytes that clients have sent so far. */
  sentBytes = 0;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  private constructor(target: string, oneWayMs: number, carryUp: Carry) {
    const { hostname, port } = new URL(`tcp://${target}`);
    // The other end closes when its peer does, which takes as long as the bytes before.
    this.#server = createServer({ allowHalfOpen: true }, (client) => {
      const options = { host: hostname, port: Number(port), allowHalfOpen: true };
      const upstream = connect(options);
      this.connections += 1;
      client.on('data', (chunk: Buffer) => (this.sentBytes += chunk.length));
      this.#keep(client);
      this.#keep(upstream);
      carryUp(client, upstream, oneWayMs);
      carry(upstream, client, oneWayMs);
    });
  }

  /**
   * Delays each direction by `oneWayMs`, so that a round trip takes twice as long. `carryUp` carries
   * what clients send.
   */
  static async open(target: string, oneWayMs = 0, carryUp: Carry = carry): Promise<DelayProxy> {
    const proxy = new DelayProxy(target, oneWayMs, carryUp);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  /** Where clients connect. */
  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #keep(socket: Socket): void {
    socket.setNoDelay(true);
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}

/** Carries what comes on one socket to the other. */
type Carry = (from: Socket, to: Socket, delayMs: number) => void;

/**
 * Carries in one piece what comes within the delay after its first chunk, so that no answer comes in
 * between.
 */
export function gather(from: Socket, to: Socket, delayMs: number): void {
  const chunks: Buffer[] = [];
  const flush = (): void => {
    if (chunks.length > 0) to.write(Buffer.concat(chunks.splice(0)));
  };
  from.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    if (chunks.length === 1) setTimeout(flush, delayMs);
  });
  from.once('end', () => {
    flush();
    to.end();
  });
  from.on('error', () => to.destroy());
  from.once('close', () => to.end());
}

/** Carries what comes on one socket to the other, each chunk and the end after the same time. */
function carry(from: Socket, to: Socket, delayMs: number): void {
  const line = new DelayLine(delayMs);
  from.on('data', (chunk: Buffer) => line.push(() => to.write(chunk)));
  from.once('end', () => line.push(() => to.end()));
  // A reset, or an end of the proxy: no more comes, and the other end has to know.
  from.on('error', () => line.push(() => to.destroy()));
  from.once('close', () => line.push(() => to.end()));
}

/** Does things in their order, each as long after it was asked for. */
class DelayLine {
  readonly #waiting: { readonly dueMs: number; readonly act: () => void }[] = [];

  constructor(private readonly delayMs: number) {}

  push(act: () => void): void {
    if (this.delayMs === 0) {
      act();
      return;
    }
    this.#waiting.push({ dueMs: performance.now() + this.delayMs, act });
    if (this.#waiting.length === 1) setTimeout(() => this.#run(), this.delayMs);
  }

  #run(): void {
    for (;;) {
      const [next] = this.#waiting;
      if (next === undefined) return;
      const leftMs = next.dueMs - performance.now();
      if (leftMs > 0) {
        // A timer may be early by a part of a millisecond.
        setTimeout(() => this.#run(), Math.max(1, leftMs));
        return;
      }
      this.#waiting.shift();
      next.act();
    }
  }
}
