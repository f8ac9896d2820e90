import { Client, credentials, Metadata, type ChannelOptions } from '@grpc/grpc-js';
import { ServerReflectionService } from 'nice-grpc-server-reflection';
import {
  HealthDefinition,
  type HealthCheckResponse,
} from '../../../src/gen/grpc/health/v1/health.js';
import { VectorDBDefinition } from '../../../src/gen/vectordb/vectordb.js';
import { LIST_SERVICES, namesOf } from './reflection.js';
import type { CallOptions, MethodName, RequestOf, ResponseOf, StepClient } from './step-client.js';

/** A method as ts-proto generates it. */
interface Method<Request, Response> {
  readonly name: string;
  readonly requestType: { encode(message: Request): { finish(): Uint8Array } };
  readonly responseType: { decode(bytes: Uint8Array): Response };
}

/** @grpc/grpc-js with the generated messages, and nothing between them. */
export class GrpcJsClient implements StepClient {
  readonly #client: Client;
  readonly #key: string;

  constructor(address: string, key: string, options: ChannelOptions) {
    this.#client = new Client(address, credentials.createInsecure(), options);
    this.#key = key;
  }

  call<Name extends MethodName>(
    name: Name,
    request: RequestOf<Name>,
    options: CallOptions = {},
  ): Promise<ResponseOf<Name>> {
    const { fullName, methods } = VectorDBDefinition;
    const method = methods[name] as unknown as Method<RequestOf<Name>, ResponseOf<Name>>;
    return this.#unary(fullName, method, request, options);
  }

  check(service: string): Promise<HealthCheckResponse> {
    const { fullName, methods } = HealthDefinition;
    return this.#unary(fullName, methods.check, { service }, {});
  }

  async *watch(
    service: string,
    options: CallOptions = {},
  ): AsyncGenerator<HealthCheckResponse, void> {
    const { path, serialize, deserialize } = codec(
      HealthDefinition.fullName,
      HealthDefinition.methods.watch,
    );
    const metadata = this.#metadata(options);
    const call = this.#client.makeServerStreamRequest(
      path,
      serialize,
      deserialize,
      { service },
      metadata,
      deadlineOf(options),
    );
    try {
      for await (const answer of call) yield answer as HealthCheckResponse;
    } finally {
      // The end of the loop alone would leave the call open, and the error of its end unheard.
      call.on('error', () => undefined).cancel();
    }
  }

  async listServices(): Promise<string[]> {
    const { path, requestSerialize, responseDeserialize } =
      ServerReflectionService.serverReflectionInfo;
    const call = this.#client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
    call.end(LIST_SERVICES);
    const names: string[] = [];
    for await (const response of call) names.push(...namesOf(response));
    return names;
  }

  close(): void {
    this.#client.close();
  }

  #unary<Request, Response>(
    service: string,
    method: Method<Request, Response>,
    request: Request,
    options: CallOptions,
  ): Promise<Response> {
    const { path, serialize, deserialize } = codec(service, method);
    return new Promise((resolve, reject) => {
      const call = this.#client.makeUnaryRequest(
        path,
        serialize,
        deserialize,
        request,
        this.#metadata(options),
        deadlineOf(options),
        (error, response) => {
          if (response === undefined) reject(error ?? new Error('no answer and no error'));
          else resolve(response);
        },
      );
      options.signal?.addEventListener('abort', () => call.cancel(), { once: true });
    });
  }

  #metadata(options: CallOptions): Metadata {
    const metadata = new Metadata();
    metadata.set('authorization', this.#key);
    for (const [name, value] of Object.entries(options.metadata ?? {})) metadata.set(name, value);
    return metadata;
  }
}

function codec<Request, Response>(service: string, method: Method<Request, Response>) {
  return {
    path: `/${service}/${method.name}`,
    serialize: (message: Request) => Buffer.from(method.requestType.encode(message).finish()),
    deserialize: (bytes: Buffer) => method.responseType.decode(bytes),
  };
}

function deadlineOf({ timeoutMs }: CallOptions): { deadline?: number } {
  return timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
}
