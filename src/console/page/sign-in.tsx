import { useEffect, useRef, useState } from 'preact/hooks';
import { Brand } from './brand.js';
import { FailureNote } from './failure-note.js';
import { signIn, type Session } from './service.js';

/** Asks for a key. The service itself says whether it knows it. */
export function SignIn({ onSession }: { readonly onSession: (session: Session) => void }) {
  const [error, setError] = useState<unknown>();
  const [isAsking, setIsAsking] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    document.title = 'Sign in · vectord console';
    field.current?.focus();
  }, []);

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setIsAsking(true);
    setError(undefined);
    try {
      onSession(await signIn(field.current?.value.trim() ?? ''));
    } catch (failure) {
      setError(failure);
      setIsAsking(false);
    }
  };

  return (
    <main class="sign-in">
      <form class="card" onSubmit={submit} aria-labelledby="sign-in">
        <h1 id="sign-in">
          <Brand /> console
        </h1>
        <label class="field">
          <span>API key</span>
          <input ref={field} type="password" required autocomplete="off" spellcheck={false} />
        </label>
        <button type="submit" class="primary" disabled={isAsking}>
          {isAsking ? 'Asking the service…' : 'Sign in'}
        </button>
        {error !== undefined && <FailureNote error={error} />}
        <p class="hint">
          A key of either role, from <code>keys.json</code> in the data folder unless{' '}
          <code>SERVICE_KEYS_FILE</code> names another file. It stays in the memory of this page:
          once you load the page again, it is gone. The console only reads.
        </p>
      </form>
    </main>
  );
}
