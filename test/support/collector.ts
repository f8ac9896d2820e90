import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { onTestFinished, vi } from 'vitest';

type Value = string | bigint | number | boolean | Value[] | undefined;
type Attributes = Readonly<Record<string, Value>>;

/** A span as it has arrived. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  /** 1 is internal, 2 is a server. */
  readonly kind: number;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Attributes;
  /** 0 is unset, 2 is an error. */
  readonly status: number;
  readonly statusMessage: string;
  readonly resource: Attributes;
}

/** What receives traces as a collector of OpenTelemetry does: OTLP over HTTP, in protobuf. */
export class Collector {
  readonly spans: Span[] = [];
  /** All bodies that came, as they came. */
  bodies = '';
  /** The headers of the latest request. */
  headers: IncomingHttpHeaders = {};
  readonly #server = createServer((request, response) => void this.#take(request, response));

  private constructor(private readonly answers: boolean) {}

  /** For the test that calls it. One that does not answer takes requests and leaves it at that. */
  static async start({ answers = true } = {}): Promise<Collector> {
    const collector = new Collector(answers);
    const server = collector.#server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return collector;
  }

  /** As OTEL_EXPORTER_OTLP_ENDPOINT has it. */
  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The first span that this is true of, once it has come. */
  async span(isMeant: (span: Span) => boolean): Promise<Span> {
    return await vi.waitFor(
      () => {
        const found = this.spans.find(isMeant);
        if (found === undefined) throw new Error(`none of ${this.spans.map(({ name }) => name)}`);
        return found;
      },
      { timeout: 20_000 },
    );
  }

  childrenOf({ spanId }: Span): Span[] {
    const children = this.spans.filter(({ parentSpanId }) => parentSpanId === spanId);
    return children.toSorted((a, b) => Number(a.startNs - b.startNs));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isTraces = request.method === 'POST' && request.url === '/v1/traces';
    const isProtobuf = request.headers['content-type'] === 'application/x-protobuf';
    const body = await buffer(request);
    this.headers = request.headers;
    if (!this.answers) return;
    response.statusCode = isTraces && isProtobuf ? 200 : 404;
    if (response.statusCode === 200) {
      this.bodies += body.toString('latin1');
      this.spans.push(...readSpans(body));
    }
    response.end();
  }
}

/** What an ExportTraceServiceRequest holds. */
function readSpans(body: Uint8Array): Span[] {
  return new Fields(body).messages(1).flatMap((resourceSpans) => {
    const resource = resourceSpans.messages(1).map((message) => attributesOf(message, 1))[0] ?? {};
    const scopes = resourceSpans.messages(2);
    return scopes.flatMap((scope) => scope.messages(2).map((span) => readSpan(span, resource)));
  });
}

function readSpan(span: Fields, resource: Attributes): Span {
  const [status] = span.messages(15);
  return {
    traceId: span.bytes(1).toString('hex'),
    spanId: span.bytes(2).toString('hex'),
    traceState: span.bytes(3).toString(),
    parentSpanId: span.bytes(4).toString('hex'),
    name: span.bytes(5).toString(),
    kind: Number(span.number(6)),
    startNs: span.number(7),
    endNs: span.number(8),
    attributes: attributesOf(span, 9),
    status: Number(status?.number(3) ?? 0n),
    statusMessage: status?.bytes(2).toString() ?? '',
    resource,
  };
}

function attributesOf(message: Fields, field: number): Attributes {
  const pairs = message.messages(field).map((pair) => {
    return [pair.bytes(1).toString(), pair.messages(2).map(readValue)[0]] as const;
  });
  return Object.fromEntries(pairs);
}

function readValue(value: Fields): Value {
  const [array] = value.messages(5);
  if (array !== undefined) return array.messages(1).map(readValue);
  if (value.has(3)) return Number(value.number(3));
  if (value.has(2)) return value.number(2) === 1n;
  return value.bytes(1).toString();
}

/** The fields of a message by their numbers. */
class Fields {
  readonly #found = new Map<number, (Uint8Array | bigint)[]>();

  constructor(bytes: Uint8Array) {
    const reader = new BinaryReader(bytes);
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag();
      const values = this.#found.get(field) ?? [];
      this.#found.set(field, values);
      if (type === WireType.LengthDelimited) values.push(reader.bytes());
      else if (type === WireType.Varint) values.push(BigInt(reader.uint64()));
      else if (type === WireType.Bit64) values.push(BigInt(reader.fixed64()));
      else reader.skip(type);
    }
  }

  has(field: number): boolean {
    return this.#found.has(field);
  }

  messages(field: number): Fields[] {
    const values = this.#found.get(field) ?? [];
    return values.map((value) => new Fields(value as Uint8Array));
  }

  bytes(field: number): Buffer {
    return Buffer.from((this.#found.get(field)?.[0] ?? []) as Uint8Array);
  }

  number(field: number): bigint {
    return (this.#found.get(field)?.[0] ?? 0n) as bigint;
  }
}
