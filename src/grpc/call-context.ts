import type { Metadata as ReceivedMetadata } from '@grpc/grpc-js';
import { Metadata, type CallContext } from 'nice-grpc';
import contextModule from 'nice-grpc/lib/server/createCallContext.js';
import conversionModule from 'nice-grpc/lib/utils/convertMetadata.js';

/** The call of grpc-js. */
interface Call {
  readonly cancelled: boolean;
  readonly metadata: ReceivedMetadata;
  getPeer(): string;
  sendMetadata(metadata: ReceivedMetadata): void;
  once(event: 'cancelled', listener: () => void): void;
}

/** What nice-grpc empties when the handler is done: from then on nothing is there to cancel. */
interface MaybeCancel {
  cancel: (() => void) | undefined;
}

interface ContextModule {
  createCallContext(call: Call): { context: CallContext; maybeCancel: MaybeCancel };
}

interface ConversionModule {
  convertMetadataFromGrpcJs(metadata: ReceivedMetadata): Metadata;
  convertMetadataToGrpcJs(metadata: Metadata): ReceivedMetadata;
}

// What they export is no part of their types, hence the detour over unknown.
const contexts = contextModule as unknown as ContextModule;
const conversion = conversionModule as unknown as ConversionModule;

class LazyCallContext implements CallContext {
  readonly trailer = Metadata();
  #metadata: Metadata | undefined;
  #header: Metadata | undefined;
  #abort: AbortController | undefined;
  #isHeaderSent = false;

  constructor(
    private readonly call: Call,
    private readonly maybeCancel: MaybeCancel,
  ) {}

  get peer(): string {
    return this.call.getPeer();
  }

  get metadata(): Metadata {
    this.#metadata ??= conversion.convertMetadataFromGrpcJs(this.call.metadata);
    return this.#metadata;
  }

  get header(): Metadata {
    this.#header ??= Metadata();
    return this.#header;
  }

  /** Aborted when the client gives the call up before its handler is done. */
  get signal(): AbortSignal {
    if (this.#abort !== undefined) return this.#abort.signal;
    const abort = new AbortController();
    this.#abort = abort;
    const cancel = (): void => {
      if (this.maybeCancel.cancel !== undefined) abort.abort();
    };
    if (this.call.cancelled) cancel();
    else this.call.once('cancelled', cancel);
    return abort.signal;
  }

  sendHeader(): void {
    if (this.#isHeaderSent) return;
    this.#isHeaderSent = true;
    const header = this.#header;
    if (header !== undefined && [...header].length > 0) {
      this.call.sendMetadata(conversion.convertMetadataToGrpcJs(header));
    }
  }
}

/**
 * From now on nice-grpc makes of the context of a call only what its handler asks for. A search
 * asks for none of it, and to make all of it takes as long as to read the search and to write its
 * answer.
 */
export function makeCallContextsLazy(): void {
  if (typeof contexts.createCallContext !== 'function') {
    throw new Error('this version of nice-grpc makes its call contexts elsewhere');
  }
  contexts.createCallContext = (call) => {
    const maybeCancel: MaybeCancel = { cancel: () => {} };
    return { context: new LazyCallContext(call, maybeCancel), maybeCancel };
  };
}
