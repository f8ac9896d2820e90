/** A promise that is settled from outside. */
export interface Deferred<Answer> {
  readonly promise: Promise<Answer>;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

export function deferred<Answer>(): Deferred<Answer> {
  let resolve!: (answer: Answer) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<Answer>((onAnswer, onError) => {
    resolve = onAnswer;
    reject = onError;
  });
  // A rejection is no defect where nobody waits any more.
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}
