import { failureOf } from '../model/advice.js';

/** Tells of a failure in full: what it was, and what to do. */
export function FailureNote({ error }: { readonly error: unknown }) {
  const { title, message, advice, requestId } = failureOf(error);
  return (
    <div class="failure" role="alert">
      <strong>{title}</strong>
      <p>{message}</p>
      {advice !== '' && <p>{advice}</p>}
      {requestId !== undefined && (
        <p class="hint">
          Request <code>{requestId}</code>
        </p>
      )}
    </div>
  );
}
