import type { ChannelOptions } from '@grpc/grpc-js';
import {
  createChannel,
  createClient,
  Metadata,
  type CallOptions as NiceOptions,
  type Channel,
  type Client,
} from 'nice-grpc';
import { ServerReflectionService } from 'nice-grpc-server-reflection';
import {
  HealthDefinition,
  type HealthCheckResponse,
} from '../../../src/gen/grpc/health/v1/health.js';
import { VectorDBDefinition } from '../../../src/gen/vectordb/vectordb.js';
import { LIST_SERVICES, namesOf } from './reflection.js';
import type { CallOptions, MethodName, RequestOf, ResponseOf, StepClient } from './step-client.js';

const HOUR_MS = 3_600_000;
/** Eight digits, which is as many as a `grpc-timeout` has. */
const MOST_MS = 99_999_999;

/**
 * nice-grpc. Its client has no deadlines of its own: they are sent, and only the server keeps
 * them.
 */
export class NiceGrpcClient implements StepClient {
  readonly #channel: Channel;
  readonly #client: Client<typeof VectorDBDefinition>;
  readonly #key: string;

  constructor(address: string, key: string, options: ChannelOptions) {
    this.#channel = createChannel(address, undefined, options);
    this.#client = createClient(VectorDBDefinition, this.#channel);
    this.#key = key;
  }

  call<Name extends MethodName>(
    name: Name,
    request: RequestOf<Name>,
    options: CallOptions = {},
  ): Promise<ResponseOf<Name>> {
    const method = this.#client[name] as unknown as (
      message: RequestOf<Name>,
      options: NiceOptions,
    ) => Promise<ResponseOf<Name>>;
    return method(request, this.#options(options));
  }

  check(service: string): Promise<HealthCheckResponse> {
    return createClient(HealthDefinition, this.#channel).check({ service });
  }

  watch(service: string, options: CallOptions = {}): AsyncIterable<HealthCheckResponse> {
    const health = createClient(HealthDefinition, this.#channel);
    return health.watch({ service }, this.#options(options));
  }

  async listServices(): Promise<string[]> {
    const reflection = createClient(ServerReflectionService, this.#channel);
    const requests = async function* () {
      yield LIST_SERVICES;
    };
    const names: string[] = [];
    for await (const response of reflection.serverReflectionInfo(requests())) {
      names.push(...namesOf(response));
    }
    return names;
  }

  close(): void {
    this.#channel.close();
  }

  #options({ timeoutMs, metadata = {}, signal }: CallOptions): NiceOptions {
    const sent = Metadata({ authorization: this.#key });
    for (const [name, value] of Object.entries(metadata)) sent.set(name, value);
    if (timeoutMs !== undefined) sent.set('grpc-timeout', timeoutText(timeoutMs));
    return { metadata: sent, ...(signal === undefined ? {} : { signal }) };
  }
}

function timeoutText(timeoutMs: number): string {
  return timeoutMs <= MOST_MS ? `${timeoutMs}m` : `${Math.ceil(timeoutMs / HOUR_MS)}H`;
}
