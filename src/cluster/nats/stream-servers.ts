import type { StreamInfo } from '@nats-io/jetstream';
import type { ServerState } from '../../observe/cluster-metrics.js';

/** A NATS server that holds a stream, as the one that leads it sees it. */
export interface StreamServer {
  readonly name: string;
  readonly state: ServerState;
  /** How many operations it lacks. */
  readonly lag: number;
}

/**
 * The leader hears from each several times a second. One that it hears nothing of for so long was killed,
 * or has no JetStream any more, though its process runs and keeps its connections.
 */
const SILENT_NS = 5e9;

export function serversOfStream({ cluster }: StreamInfo): StreamServer[] {
  const { leader, replicas: others = [] } = cluster ?? {};
  const servers = others.map(({ name, current, offline, active, lag = 0 }) => {
    // A new leader that has heard nothing of it so far says 0.
    const isSilent = active > SILENT_NS || (active === 0 && !current);
    const heard: ServerState = current ? 'current' : 'behind';
    const state: ServerState = offline ? 'away' : isSilent ? 'silent' : heard;
    return { name, state, lag };
  });
  return leader === undefined ? servers : [{ name: leader, state: 'leader', lag: 0 }, ...servers];
}
