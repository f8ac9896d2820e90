import { useEffect, useState } from 'preact/hooks';

/** How far a question is. What was answered before stays to be seen until the next answer is here. */
export interface Answer<Value> {
  readonly value: Value | undefined;
  readonly error: unknown;
  readonly isAsking: boolean;
}

const NOTHING = { value: undefined, error: undefined, isAsking: false };

/**
 * Asks whenever one of `causes` has changed, and gives up what was asked before; undefined asks nothing.
 */
export function useAnswer<Value>(
  ask: ((signal: AbortSignal) => Promise<Value>) | undefined,
  causes: readonly unknown[],
): Answer<Value> {
  const [answer, setAnswer] = useState<Answer<Value>>(NOTHING);
  useEffect(() => {
    if (ask === undefined) {
      setAnswer(NOTHING);
      return undefined;
    }
    const controller = new AbortController();
    const { signal } = controller;
    const settle = (settled: Answer<Value>): void => {
      if (!signal.aborted) setAnswer(settled);
    };
    setAnswer(({ value }) => ({ value, error: undefined, isAsking: true }));
    ask(signal).then(
      (value) => settle({ value, error: undefined, isAsking: false }),
      (error: unknown) => settle({ value: undefined, error, isAsking: false }),
    );
    return () => controller.abort();
  }, causes);
  // The effect runs after the paint: nothing of the last answer is to be seen until then.
  return ask === undefined ? NOTHING : answer;
}
