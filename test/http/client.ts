import { connect } from 'node:net';
import type { TestServer } from '../support/server.js';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body read as JSON. */
  readonly json: unknown;
}

export interface Payload {
  readonly content_type: 'Text' | 'Image';
  readonly content: string;
}

/** Speaks to a server under one key, or under none. */
export class Client {
  constructor(
    readonly server: TestServer,
    readonly key: string | undefined,
  ) {}

  /** A string is sent as it is, anything else as JSON. */
  async send(
    method: string,
    path: string,
    content?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await fetch(this.server.http + path, {
      method,
      headers: {
        ...(this.key === undefined ? {} : { 'api-key': this.key }),
        ...(content === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(content === undefined
        ? {}
        : { body: typeof content === 'string' ? content : JSON.stringify(content) }),
    });
    const body = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text: body,
      get json(): unknown {
        return JSON.parse(body);
      },
    };
  }

  async get(path: string): Promise<Answer> {
    return await this.send('GET', path);
  }

  async post(path: string, body: unknown): Promise<Answer> {
    return await this.send('POST', path, body);
  }

  async delete(path: string): Promise<Answer> {
    return await this.send('DELETE', path);
  }

  /** Stores a point and gives its id. */
  async insert(vector: readonly number[], payload: Payload = text('')): Promise<string> {
    const answer = await this.post('/points', { vector, payload });
    return (answer.json as { point_id: string }).point_id;
  }

  /** Stores points and gives their ids. */
  async insertAll(vectors: readonly (readonly number[])[]): Promise<string[]> {
    const items = vectors.map((vector) => ({ vector, payload: text('') }));
    const answer = await this.post('/points/batch', { vectors: items });
    return (answer.json as { point_ids: string[] }).point_ids;
  }

  /** The ids that a search gives. */
  async search(
    vector: readonly number[],
    similarity: string,
    limit: number,
    ef?: number,
  ): Promise<string[]> {
    const answer = await this.post('/points/search', { vector, similarity, limit, ef });
    return (answer.json as { results: string[] }).results;
  }
}

export function text(content: string): Payload {
  return { content_type: 'Text', content };
}

/**
 * Sends bytes as they are and gives all that comes back until the server closes the connection;
 * for what an HTTP client would tidy up or refuse to send.
 */
export async function sendRaw(server: TestServer, bytes: string): Promise<string> {
  const { hostname, port } = new URL(server.http);
  const socket = connect(Number(port), hostname);
  socket.write(bytes, 'latin1');
  let answer = '';
  for await (const chunk of socket.setEncoding('latin1')) answer += chunk;
  return answer;
}

/** The status of an answer as `sendRaw` gives it. */
export function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);
}
