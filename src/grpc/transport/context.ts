import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { isIPv6 } from 'node:net';
import { Metadata, type CallContext } from 'nice-grpc-common';
import { readMetadata, writeMetadata } from './metadata.js';

/** What a handler learns of its call. Each part is made when it is asked for: most are never. */
export class Context implements CallContext {
  #metadata: Metadata | undefined;
  #header: Metadata | undefined;
  #trailer: Metadata | undefined;
  #abort: AbortController | undefined;
  #isAborted = false;

  constructor(
    private readonly headers: IncomingHttpHeaders,
    private readonly stream: ServerHttp2Stream,
    readonly sendHeader: () => void,
  ) {}

  get metadata(): Metadata {
    return (this.#metadata ??= readMetadata(this.headers));
  }

  get peer(): string {
    const { remoteAddress = '', remotePort = 0 } = this.stream.session?.socket ?? {};
    const host = isIPv6(remoteAddress) ? `[${remoteAddress}]` : remoteAddress;
    return host === '' ? 'unknown' : `${host}:${remotePort}`;
  }

  get header(): Metadata {
    return (this.#header ??= new Metadata());
  }

  get trailer(): Metadata {
    return (this.#trailer ??= new Metadata());
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#isAborted) this.#abort.abort();
    }
    return this.#abort.signal;
  }

  /** Tells the handler that nobody waits for it any more. */
  abort(): void {
    this.#isAborted = true;
    this.#abort?.abort();
  }

  addHeader(to: OutgoingHttpHeaders): void {
    if (this.#header !== undefined) writeMetadata(this.#header, to);
  }

  addTrailer(to: OutgoingHttpHeaders): void {
    if (this.#trailer !== undefined) writeMetadata(this.#trailer, to);
  }
}
