import { once } from 'node:events';
import {
  connect,
  constants,
  createServer,
  type ClientHttp2Session,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';

/** A gRPC line to a server that can refuse calls as a node that is not ready, while others go on. */
export class Door {
  /** So many of the next calls of `Info` are refused. */
  refusals = 0;
  /** Calls of `ScrollStream` that are under way. */
  scrolls = 0;
  readonly #server: Http2Server;
  readonly #behind: ClientHttp2Session;

  private constructor(target: string) {
    this.#behind = connect(`http://${target}`);
    this.#server = createServer();
    this.#server.on('stream', (call, headers) => this.#take(call, headers));
  }

  static async open(target: string): Promise<Door> {
    const door = new Door(target);
    await once(door.#server.listen(0, '127.0.0.1'), 'listening');
    return door;
  }

  get address(): string {
    return `grpc://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#behind.destroy();
  }

  #take(call: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const path = headers[':path'] ?? '';
    call.on('error', () => undefined);
    if (path.endsWith('/Info') && this.refusals > 0) {
      this.refusals -= 1;
      const refusal = { 'content-type': 'application/grpc', 'grpc-status': '14' };
      call.respond({ ':status': 200, ...refusal }, { endStream: true });
      return;
    }
    const isScroll = path.endsWith('/ScrollStream');
    if (isScroll) this.scrolls += 1;
    const passed = this.#behind.request(headers);
    passed.on('error', () => undefined);
    passed.on('response', (answer) => {
      call.respond(answer, { waitForTrailers: true });
      passed.on('trailers', (trailers) => {
        call.on('wantTrailers', () => call.sendTrailers(trailers));
      });
      passed.pipe(call);
    });
    call.on('close', () => {
      if (isScroll) this.scrolls -= 1;
      passed.close(constants.NGHTTP2_CANCEL);
    });
    call.pipe(passed);
  }
}
