import { STATUS_CODES, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { CloseReason } from '../observe/connection-stats.js';

/** What to answer to each error of node's parser; every other one is a plain 400. */
const ANSWERS: ReadonlyMap<string, readonly [status: number, text: string]> = new Map([
  ['HPE_HEADER_OVERFLOW', [431, 'The request headers are too large']],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', [413, 'The chunk extensions of the body are too large']],
  ['ERR_HTTP_REQUEST_TIMEOUT', [408, 'The request took too long to arrive']],
]);

const MALFORMED = [400, 'The request is not well-formed HTTP/1.1'] as const;

/** What is done about the connection of a malformed request. */
interface Handling {
  /** What is being answered on it. */
  readonly answering: (socket: Duplex) => ServerResponse | undefined;
  /** Closes it, which is counted and logged with the reason. */
  readonly close: (socket: Duplex, reason: CloseReason) => void;
  /** Hears of each status that is answered. */
  readonly onAnswer: (status: number) => void;
}

/**
 * Answers what node's parser refuses, which never reaches the app, as text like every other
 * error, and closes the connection: where the next request would begin is not known. Behind a
 * request that is still computing nothing can be answered.
 */
export function answerMalformedRequests(
  server: Server,
  { answering, close, onAnswer }: Handling,
): void {
  // A proxy's method, which node hands over as a bare socket, or closes without a word.
  server.on('connect', (_, socket) => {
    // The client may be gone already, and nobody else listens to this socket any more.
    socket.on('error', () => socket.destroy());
    if (answering(socket) !== undefined) close(socket, 'protocol');
    else {
      onAnswer(405);
      end(socket, 405, 'CONNECT is not possible here', 'Allow: GET, HEAD, POST, DELETE\r\n');
    }
  });

  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const response = answering(socket);
    // An answer that is still owed to an earlier request would be mistaken for this one.
    const mayAnswer = response === undefined || !(response.headersSent || response.req.complete);
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    if (!mayAnswer) {
      close(socket, error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'timeout' : 'protocol');
      return;
    }
    const [status, text] = ANSWERS.get(error.code ?? '') ?? MALFORMED;
    onAnswer(status);
    end(socket, status, text);
  });
}

/** Sends an answer past the app and closes the connection; each of `headers` ends its line. */
function end(socket: Duplex, status: number, text: string, headers = ''): void {
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headers}` +
      'Content-Type: text/plain; charset=utf-8\r\n' +
      `Content-Length: ${Buffer.byteLength(text)}\r\n` +
      `Connection: close\r\n\r\n${text}`,
    () => socket.destroy(),
  );
}
