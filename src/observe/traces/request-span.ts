import type { AsyncLocalStorage } from 'node:async_hooks';
import { ROOT_CONTEXT, SpanStatusCode, trace, type Span, type Tracer } from '@opentelemetry/api';
import { VectordError } from '../../core/errors.js';
import type { RequestOutcome, RequestTrace, StepName, Steps } from '../tracing.js';
import { httpSpan, rpcSpan } from './conventions.js';

/** The request that the running code works on, if it is sampled. */
export type CurrentRequest = AsyncLocalStorage<RequestSpan>;

/**
 * Does something for a trace, which a request does not depend on: a failure of it is noted, and
 * undefined is answered.
 */
export type Harmless = <Answer>(act: () => Answer) => Answer | undefined;

/**
 * Steps of one request that have a span: a stream may have one for each of millions of messages,
 * and no collector takes such a trace.
 */
const MOST_STEPS = 100;

/** What a request tells when it begins. */
interface BegunRequest {
  readonly protocol: 'http' | 'grpc';
  readonly scheme: string;
  readonly path: string;
}

/** A request with a span, and with one for each of its steps. */
export class RequestSpan implements RequestTrace, Steps {
  #steps = 0;

  constructor(
    private readonly span: Span,
    private readonly begun: BegunRequest,
    private readonly tracer: Tracer,
    private readonly current: CurrentRequest,
    private readonly harmless: Harmless,
  ) {}

  get traceId(): string {
    return this.span.spanContext().traceId;
  }

  run<Answer>(act: () => Answer): Answer {
    return this.current.run(this, act);
  }

  step<Answer>(name: StepName, act: () => Answer): Answer {
    if (this.#steps === MOST_STEPS) return act();
    this.#steps += 1;
    const span = this.harmless(() =>
      this.tracer.startSpan(name, {}, trace.setSpan(ROOT_CONTEXT, this.span)),
    );
    const end = (): void => void this.harmless(() => span?.end());
    const fail = (error: unknown): void => void this.harmless(() => endFailed(span, error));
    try {
      const answer = act();
      if (answer instanceof Promise) answer.then(end, fail);
      else if (answer !== undefined) end();
      return answer;
    } catch (error) {
      fail(error);
      throw error;
    }
  }

  end(outcome: RequestOutcome): void {
    this.harmless(() => this.#end(outcome));
  }

  #end(outcome: RequestOutcome): void {
    const { span, begun } = this;
    const { name, attributes, isError } =
      begun.protocol === 'http' ? httpSpan(outcome, begun.scheme, begun.path) : rpcSpan(outcome);
    span.updateName(name).setAttributes(attributes);
    if (isError) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }
}

/** Ends a span with the kind of a failure: its message may quote the request. */
function endFailed(span: Span | undefined, error: unknown): void {
  const type = error instanceof VectordError ? error.code : 'INTERNAL';
  span?.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR }).end();
}
