import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Where bytes go: to the server that is linked, or to the clients of it. */
export type Direction = 'up' | 'down';

/**
 * A line to a server on this machine that can be cut, in one direction or in both. As over a network,
 * neither end hears of it: what is sent meanwhile, and that an end has gone, arrives once it is mended.
 */
export class Link {
  readonly #cut = new Set<Direction>();
  readonly #flows = new Set<Socket>();
  /** What is to be done once the line is mended. */
  #held: (() => void)[] = [];
  #damage: { readonly text: string; readonly by: string } | undefined;
  readonly #server: Server;

  private constructor(target: string) {
    const { hostname: host, port } = new URL(`tcp://${target}`);
    this.#server = createServer({ allowHalfOpen: true }, (client) => {
      const server = connect({ host, port: Number(port), allowHalfOpen: true });
      this.#carry('up', client, server);
      this.#carry('down', server, client);
    });
  }

  static async open(target: string): Promise<Link> {
    const link = new Link(target);
    link.#server.listen(0, '127.0.0.1');
    await once(link.#server, 'listening');
    return link;
  }

  /** Where clients connect. */
  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  cut(...directions: readonly Direction[]): void {
    for (const direction of directions) this.#cut.add(direction);
  }

  mend(): void {
    this.#cut.clear();
    for (const act of this.#held.splice(0)) act();
  }

  /** The next piece that comes down with a text has another one of the same length in its place. */
  damage(text: string, by: string): void {
    this.#damage = { text, by };
  }

  get isDamaged(): boolean {
    return this.#damage === undefined;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#flows) socket.destroy();
  }

  #carry(direction: Direction, from: Socket, to: Socket): void {
    const whenWhole = (act: () => void): void => {
      if (this.#cut.has(direction)) this.#held.push(act);
      else act();
    };
    from.setNoDelay(true);
    this.#flows.add(from);
    from.on('data', (chunk: Buffer) => {
      if (direction === 'down') this.#harm(chunk);
      whenWhole(() => to.write(chunk));
    });
    from.once('end', () => whenWhole(() => to.end()));
    from.on('error', () => undefined);
    from.once('close', () => {
      this.#flows.delete(from);
      whenWhole(() => to.destroySoon());
    });
  }
  #harm(chunk: Buffer): void {
    const at = this.#damage === undefined ? -1 : chunk.indexOf(this.#damage.text);
    if (at < 0) return;
    chunk.write(this.#damage?.by ?? '', at);
    this.#damage = undefined;
  }
}
