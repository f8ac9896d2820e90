import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { MIB, type Target } from './target.js';

const FLOOD_BYTES = 16 * MIB;
/** How long a busy machine may take to close a connection that it has had enough of. */
const PATIENCE_MS = 5_000;

/** The type, flags and stream of the frame, behind its length. */
// oxlint-disable-next-line no-control-regex -- frames are bytes
const GO_AWAY = /\x00\x00.\x07\x00\x00\x00\x00\x00/s;

/** A connection of which the test says every byte. */
export class RawConnection {
  readonly socket: Socket;
  isClosed = false;
  received = '';
  readonly #closed: Promise<void>;

  constructor(address: string) {
    const { hostname, port } = new URL(address.includes('//') ? address : `http://${address}`);
    this.socket = connect(Number(port), hostname);
    // A connection that the server resets is what many an attack is to end with.
    this.socket.on('error', () => {});
    this.#closed = new Promise((resolve) => {
      this.socket.once('close', () => {
        this.isClosed = true;
        resolve();
      });
    });
  }

  /** Reads what comes and keeps as much of it as an answer takes. */
  read(): this {
    this.socket.setEncoding('latin1').on('data', (text: string) => {
      if (this.received.length < MIB) this.received += text;
    });
    return this;
  }

  /** Sends bytes; resolves when they have been taken or the connection is closed. */
  async send(bytes: Uint8Array | string): Promise<void> {
    if (this.isClosed) return;
    const sent = new Promise<void>((resolve) => {
      this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes, () =>
        resolve(),
      );
    });
    await Promise.race([sent, this.#closed]);
  }

  /** Sends the same over and over, as fast as it is taken, up to `total` bytes. */
  async flood(bytes: Buffer, total = FLOOD_BYTES): Promise<void> {
    for (let sent = 0; sent < total && !this.isClosed; sent += bytes.length) await this.send(bytes);
  }

  /** Whether the server closes the connection, soon. */
  async closes(patienceMs = PATIENCE_MS): Promise<boolean> {
    await Promise.race([this.#closed, sleep(patienceMs)]);
    return this.isClosed;
  }

  /** Whether the server says, in HTTP/2, that it takes nothing more on this connection. */
  async isGivenUp(patienceMs = PATIENCE_MS): Promise<boolean> {
    const giveUpAtMs = performance.now() + patienceMs;
    while (!this.isClosed && !GO_AWAY.test(this.received)) {
      if (performance.now() > giveUpAtMs) return false;
      await sleep(5);
    }
    await this.end();
    return true;
  }

  async end(): Promise<void> {
    this.socket.destroy();
    await this.#closed;
  }
}

/** So many connections, open. */
export async function openAll(address: string, count: number): Promise<RawConnection[]> {
  const all = Array.from({ length: count }, () => new RawConnection(address));
  await Promise.all(
    all.map(async ({ socket }) => {
      if (socket.connecting) await new Promise((resolve) => socket.once('connect', resolve));
    }),
  );
  return all;
}

export async function endAll(connections: readonly RawConnection[]): Promise<void> {
  await Promise.all(connections.map((connection) => connection.end()));
}

/** The same bytes over and over, to be sent at once. */
export function many(bytes: Uint8Array | string, total = 256 * 1024): Buffer {
  const piece = Buffer.from(bytes);
  return Buffer.concat(Array<Buffer>(Math.ceil(total / piece.length)).fill(piece));
}

/** Something done so many times at once. */
export async function times<Result>(
  count: number,
  act: (index: number) => Promise<Result>,
): Promise<Result[]> {
  return await Promise.all(Array.from({ length: count }, (_, index) => act(index)));
}

/** A request on a connection of its own; resolves with status and text of its answer. */
export async function ask(
  target: Target,
  method: string,
  path: string,
  body: string | Uint8Array = '',
  headers: Readonly<Record<string, string>> = { 'api-key': target.server.keys.readwrite },
): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(target.server.http);
  // A server reads what is left of a refused body, unless the connection is to end with it.
  const agent = new Agent({ keepAlive: true });
  const sent = request({ agent, hostname, port, method, path, headers });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const piece of answer.setEncoding('utf8')) text += piece;
  agent.destroy();
  return { status: answer.statusCode ?? 0, text };
}
