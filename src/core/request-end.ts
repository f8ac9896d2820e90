/**
 * Has a listener called once nobody waits for the answer to a request any more: it was answered,
 * its client has gone, or its time is up. At once where that is so already.
 */
export type OnRequestEnd = (listener: () => void) => void;
