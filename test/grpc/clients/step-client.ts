import type { ChannelOptions } from '@grpc/grpc-js';
import type { HealthCheckResponse } from '../../../src/gen/grpc/health/v1/health.js';
import { VectorDBDefinition } from '../../../src/gen/vectordb/vectordb.js';

type Methods = typeof VectorDBDefinition.methods;
export type MethodName = keyof Methods;
export type RequestOf<Name extends MethodName> = Parameters<
  Methods[Name]['requestType']['encode']
>[0];
export type ResponseOf<Name extends MethodName> = ReturnType<
  Methods[Name]['responseType']['decode']
>;

export interface CallOptions {
  readonly timeoutMs?: number;
  /** Sent besides the key; names that end in `-bin` have bytes. */
  readonly metadata?: Readonly<Record<string, string | Buffer>>;
  readonly signal?: AbortSignal;
}

/** A client of one library. What is not a success is thrown, with its `code` and `details`. */
export interface StepClient {
  call<Name extends MethodName>(
    name: Name,
    request: RequestOf<Name>,
    options?: CallOptions,
  ): Promise<ResponseOf<Name>>;
  check(service: string): Promise<HealthCheckResponse>;
  watch(service: string, options?: CallOptions): AsyncIterable<HealthCheckResponse>;
  listServices(): Promise<string[]>;
  close(): void;
}

/** Opens a client with a key and options of grpc-js. */
export type OpenClient = (address: string, key: string, options: ChannelOptions) => StepClient;
