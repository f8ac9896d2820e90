import { useState } from 'preact/hooks';

/** What the form does, and why it could not; undefined once it could. */
export interface Submit {
  readonly submit: (event: Event) => void;
  readonly error: unknown;
}

/** Runs `act` when a form is submitted, in place of a request by the browser. */
export function useSubmit(act: () => void): Submit {
  const [error, setError] = useState<unknown>();
  const submit = (event: Event): void => {
    event.preventDefault();
    try {
      act();
      setError(undefined);
    } catch (failure) {
      setError(failure);
    }
  };
  return { submit, error };
}
