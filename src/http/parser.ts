/* oxlint-disable no-restricted-properties -- where it is missing, only time is lost */
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/** Anything but 0 and what llhttp gives a meaning to: an error at this place of what it reads. */
const STOP = -1;

type OnIncoming = (request: IncomingMessage, isKeptAlive: boolean) => number;

/** What node:http hangs on each socket of a server; its types do not know of it. */
interface Parsed {
  readonly parser?: { onIncoming?: OnIncoming } | null;
}

/**
 * Has nothing more read of a connection that was cut: of what had arrived by then node would make
 * request after request, thousands of them for each connection, which nobody hears of. This is not
 * in its public interface; where a version of node has it no more, only the time is lost.
 */
export function stopReadingWhenCut(server: Server): void {
  server.on('connection', (socket: Socket & Parsed) => {
    const { parser } = socket;
    const onIncoming = parser?.onIncoming;
    if (parser == null || onIncoming === undefined) return;
    parser.onIncoming = (request, isKeptAlive) =>
      socket.destroyed ? STOP : onIncoming(request, isKeptAlive);
  });
}
