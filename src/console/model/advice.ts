import { VectordError, type ErrorCode } from '../../client/browser.js';
import { InputError } from './input.js';

/** A failure as the page shows it. */
export interface Failure {
  readonly title: string;
  readonly message: string;
  /** What the reader can do about it. */
  readonly advice: string;
  /** Names the request in the log of the service. */
  readonly requestId: string | undefined;
}

const ADVICE: Readonly<Record<ErrorCode, string>> = {
  INVALID_ARGUMENT: 'Mend what the message names, and ask again.',
  UNAUTHENTICATED: 'Sign in with a key of the keys file of this service.',
  PERMISSION_DENIED: 'Sign in with a readwrite key.',
  NOT_FOUND: 'The point may have been deleted. Look for it among the points.',
  CONFLICT: 'The points have changed meanwhile. Look again.',
  TOO_LARGE: 'Ask for less: a smaller limit or fewer points on a page.',
  OVERLOADED: 'The service has too much to do. Try again in a moment.',
  UNAVAILABLE: 'The service is stopping. Try again once it has been started.',
  STORAGE_FULL: 'Give the disk of the service more space, or delete points.',
  TIMEOUT:
    'The answer took too long, and a write may have been done. Look, and try again, or ask for less.',
  CANCELLED: 'Ask again.',
  INTERNAL: 'The log of the service has the reason, under the id of the request.',
  CONNECTION_LOST: 'See whether the service runs and can be reached; the page asks on.',
  UNEXPECTED_ANSWER: 'Something between this page and the service answered in its place.',
};

/** What to tell of whatever was thrown. */
export function failureOf(error: unknown): Failure {
  if (error instanceof VectordError) {
    const { code, message, requestId } = error;
    return { title: code, message, advice: ADVICE[code], requestId };
  }
  const message = error instanceof Error ? error.message : String(error);
  const isInput = error instanceof InputError;
  return {
    title: isInput ? 'Please check what you typed' : 'The page failed',
    message,
    advice: isInput ? '' : 'Load the page again; if it fails again, please report it.',
    requestId: undefined,
  };
}
