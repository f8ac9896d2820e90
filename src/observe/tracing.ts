import type { IncomingHttpHeaders } from 'node:http';
import type { RequestParameters } from './request-parameters.js';

/** The parts of a request that a trace shows: reading what it asks for, and what the engine does. */
export type StepName = 'decode' | 'search' | 'commit' | 'read';

/** Notes when parts of requests begin and end. */
export interface Steps {
  /**
   * Acts, as a part of the request that the calling code works on. The part ends with the promise
   * that is answered, if one is. Where nothing is answered, `undefined`, there was nothing to do.
   */
  step<Answer>(name: StepName, act: () => Answer): Answer;
}

/** How a request ended, in numbers and names: nothing of what its client stores or asks. */
export interface RequestOutcome {
  readonly method: string;
  readonly route?: string | undefined;
  readonly status: string;
  readonly parameters: RequestParameters;
  readonly bytes: number;
}

/** The trace of one request that is sampled. */
export interface RequestTrace {
  /** Names it in the log. */
  readonly traceId: string;
  /** Acts: what that does, now and later, is a part of the request. */
  run<Answer>(act: () => Answer): Answer;
  end(outcome: RequestOutcome): void;
}

/**
 * What is told of each request and of its parts. Nothing is asked of it where traces are off. None of
 * it throws but what `act` throws: a request does not depend on its trace.
 */
export interface Tracing extends Steps {
  /**
   * Begins the trace of a request, or goes on with the one that its headers name; `path` is the
   * one that it was sent to, as it came. Answers nothing where the request is not sampled.
   */
  begin(
    protocol: 'http' | 'grpc',
    headers: IncomingHttpHeaders,
    path: string,
  ): RequestTrace | undefined;
  /** Hands on what is left, and waits for that no longer than `withinMs`. */
  close(withinMs: number): Promise<void>;
}
