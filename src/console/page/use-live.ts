import type { Info } from '../../client/browser.js';
import { useEffect, useState } from 'preact/hooks';
import { extend } from '../model/history.js';
import { snapshotOf, type Snapshot } from '../model/snapshot.js';
import { Scrape } from '../../scrape/scrape.js';
import { fetchFaults, fetchMetrics, type Session } from './service.js';

const INTERVAL_MS = 2_000;

/** What is known of the service right now. */
export interface Live {
  readonly info: Info;
  readonly history: readonly Snapshot[];
  /** Why it is not ready; undefined until it has said. */
  readonly faults: readonly string[] | undefined;
  /** Why it could not be asked the last time. */
  readonly error: unknown;
}

/** Asks the service how it is every few seconds, as long as somebody looks at the page. */
export function useLive({ client, key, info }: Session): Live {
  const [live, setLive] = useState<Live>({
    info,
    history: [],
    faults: undefined,
    error: undefined,
  });
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const look = async (): Promise<void> => {
      // First, as it fails with an error that says what to do.
      const newest = await client.info({ signal, retries: { attempts: 1 } });
      const [metrics, faults] = await Promise.all([fetchMetrics(key, signal), fetchFaults(signal)]);
      const snapshot = snapshotOf(new Scrape(metrics), Date.now());
      setLive(({ history }) => ({
        info: newest,
        history: extend(history, snapshot),
        faults,
        error: undefined,
      }));
    };
    let timer: ReturnType<typeof setTimeout>;
    const goOn = async (): Promise<void> => {
      try {
        if (!document.hidden) await look();
      } catch (error) {
        if (!signal.aborted) setLive((known) => ({ ...known, error }));
      }
      if (!signal.aborted) timer = setTimeout(() => void goOn(), INTERVAL_MS);
    };
    void goOn();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [client, key]);
  return live;
}
