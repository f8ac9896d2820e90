import { once } from 'node:events';
import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { Status } from 'nice-grpc';
import { Call } from './call.js';
import { methodsOf, type Method, type ServiceDefinition } from './methods.js';
import { statusTrailers } from './status.js';

export interface TransportOptions {
  /** The most bytes of a message, decompressed. */
  readonly maxMessageBytes: number;
  readonly maxConcurrentStreams: number;
}

/** Serves services of nice-grpc over HTTP/2, by the public interface of node:http2. */
export class TransportServer {
  readonly #methods = new Map<string, Method>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #server: Http2Server;

  constructor(private readonly options: TransportOptions) {
    const { maxConcurrentStreams } = options;
    this.#server = createServer({ settings: { maxConcurrentStreams, enablePush: false } });
    this.#server.on('session', (session) => {
      this.#sessions.add(session);
      session.on('error', () => session.destroy());
      session.once('close', () => this.#sessions.delete(session));
    });
    this.#server.on('stream', (stream, headers) => this.#begin(stream, headers));
  }

  add(definition: ServiceDefinition, implementation: object): void {
    for (const method of methodsOf(definition, implementation)) {
      this.#methods.set(method.path, method);
    }
  }

  /** Resolves with the port once it listens. */
  async listen(host: string, port: number): Promise<number> {
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : port;
  }

  /** Takes no new calls, and resolves once those under way have ended. */
  async shutdown(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const session of this.#sessions) session.close();
    await closed;
  }

  /** Cuts what is left. */
  forceShutdown(): void {
    for (const session of this.#sessions) session.destroy();
  }

  #begin(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const contentType = headers['content-type'];
    if (headers[':method'] !== 'POST' || contentType?.startsWith('application/grpc') !== true) {
      stream.on('error', () => undefined);
      stream.respond({ ':status': 415 }, { endStream: true });
      stream.close();
      return;
    }
    const path = headers[':path'] ?? '';
    const method = this.#methods.get(path);
    if (method === undefined) {
      refuse(stream, Status.UNIMPLEMENTED, `There is no method ${path}`);
      return;
    }
    // The stream holds its call.
    void new Call(method, stream, headers, this.options.maxMessageBytes);
  }
}

function refuse(stream: ServerHttp2Stream, code: Status, details: string): void {
  stream.on('error', () => undefined);
  const headers = { ':status': 200, 'content-type': 'application/grpc+proto' };
  stream.respond({ ...headers, ...statusTrailers(code, details) }, { endStream: true });
  if (!stream.readableEnded) stream.close();
}
