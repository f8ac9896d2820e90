import type { TransferListItem } from 'node:worker_threads';
import { VectordError, type ErrorCode } from '../core/errors.js';
import { messageOf } from '../core/start-error.js';

/** What one end of a port does for the other, each function by its name. */
export type Calls = Readonly<Record<string, (argument: never) => unknown>>;

/** An answer whose memory changes hands instead of being copied. */
export class Moved {
  constructor(
    readonly answer: object,
    readonly memory: readonly ArrayBuffer[],
  ) {}
}

/** One end of a port: a Worker, a MessagePort or the parentPort. */
interface Port {
  postMessage(message: unknown, transfer?: readonly TransferListItem[]): void;
  on(event: 'message', listener: (message: Message) => void): unknown;
}

interface Failed {
  /** That of a VectordError. */
  readonly code: ErrorCode | undefined;
  readonly message: string;
  readonly stack: string | undefined;
}

type Message =
  | { readonly call: number; readonly name: string; readonly argument: unknown }
  | { readonly answered: number; readonly answer: unknown }
  | { readonly failed: number; readonly reason: Failed };

interface Waiting {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Calls of functions on the other end of a port, and of those on this end by the other. */
export class PortCalls<Theirs extends Calls> {
  #last = 0;
  readonly #waiting = new Map<number, Waiting>();

  constructor(
    private readonly port: Port,
    private readonly ours: Calls,
  ) {
    port.on('message', (message) => this.#hear(message));
  }

  /** What the other end answers, an error it throws included. Calls begin in their order. */
  async call<Name extends keyof Theirs & string>(
    name: Name,
    argument: Parameters<Theirs[Name]>[0],
    memory: readonly ArrayBuffer[] = [],
  ): Promise<Awaited<ReturnType<Theirs[Name]>>> {
    this.#last += 1;
    const call = this.#last;
    const answer = new Promise((resolve, reject) => this.#waiting.set(call, { resolve, reject }));
    this.#send({ call, name, argument }, memory);
    return (await answer) as Awaited<ReturnType<Theirs[Name]>>;
  }

  #hear(message: Message): void {
    if ('call' in message) void this.#answer(message.call, message.name, message.argument);
    else if ('answered' in message) this.#take(message.answered)?.resolve(message.answer);
    else this.#take(message.failed)?.reject(errorOf(message.reason));
  }

  async #answer(call: number, name: string, argument: unknown): Promise<void> {
    try {
      const answer = await this.ours[name]?.(argument as never);
      if (answer instanceof Moved)
        this.#send({ answered: call, answer: answer.answer }, answer.memory);
      else this.#send({ answered: call, answer });
    } catch (error) {
      this.#send({ failed: call, reason: failureOf(error) });
    }
  }

  #take(call: number): Waiting | undefined {
    const waiting = this.#waiting.get(call);
    this.#waiting.delete(call);
    return waiting;
  }

  #send(message: Message, memory: readonly ArrayBuffer[] = []): void {
    this.port.postMessage(message, memory);
  }
}

function failureOf(error: unknown): Failed {
  return {
    code: error instanceof VectordError ? error.code : undefined,
    message: messageOf(error),
    stack: error instanceof Error ? error.stack : undefined,
  };
}

function errorOf({ code, message, stack }: Failed): Error {
  const error = code === undefined ? new Error(message) : new VectordError(code, message);
  if (stack !== undefined) error.stack = stack;
  return error;
}
