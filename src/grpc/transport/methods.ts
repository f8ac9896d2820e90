import type { CallContext } from 'nice-grpc';

/** A service as ts-proto generates its definition, or in the shape of grpc-js. */
export type ServiceDefinition = TsProtoDefinition | GrpcJsDefinition;

interface TsProtoDefinition {
  readonly fullName: string;
  readonly methods: Readonly<Record<string, TsProtoMethod>>;
}

interface TsProtoMethod {
  readonly name: string;
  readonly requestType: { decode(bytes: Uint8Array): unknown };
  readonly requestStream: boolean;
  // oxlint-disable-next-line typescript/no-explicit-any -- each method has a type of its own
  readonly responseType: { encode(message: any): Encoded };
  readonly responseStream: boolean;
}

type GrpcJsDefinition = Readonly<Record<string, GrpcJsMethod>>;

interface GrpcJsMethod {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  requestDeserialize(bytes: Buffer): unknown;
  // oxlint-disable-next-line typescript/no-explicit-any -- each method has a type of its own
  responseSerialize(message: any): Buffer;
}

/** A message that can be written. */
export interface Encoded {
  finish(): Uint8Array;
  /** The same in memory from `take`, which has room for a prefix of so many bytes before it. */
  finishBehind?(bytes: number, take: (bytes: number) => Buffer): Buffer;
}

/** A method that can be called. */
export interface Method {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  readonly decode: (bytes: Buffer) => unknown;
  readonly encode: (message: unknown) => Encoded;
  /** Answers a promise of the response, or an iterable of responses. */
  readonly handle: (request: unknown, context: CallContext) => unknown;
}

/** The methods of a service whose handlers are written for nice-grpc. */
export function methodsOf(definition: ServiceDefinition, implementation: object): Method[] {
  const handlerOf = (name: string): Method['handle'] => {
    const handler = (implementation as Record<string, unknown>)[name];
    if (typeof handler !== 'function') throw new TypeError(`there is no handler for ${name}`);
    return handler.bind(implementation) as Method['handle'];
  };
  return isTsProto(definition)
    ? tsProtoMethods(definition, handlerOf)
    : grpcJsMethods(definition, handlerOf);
}

type HandlerOf = (name: string) => Method['handle'];

function isTsProto(definition: ServiceDefinition): definition is TsProtoDefinition {
  return typeof definition['fullName'] === 'string';
}

function tsProtoMethods({ fullName, methods }: TsProtoDefinition, handlerOf: HandlerOf): Method[] {
  return Object.entries(methods).map(([name, method]) => ({
    path: `/${fullName}/${method.name}`,
    requestStream: method.requestStream,
    responseStream: method.responseStream,
    decode: (bytes) => method.requestType.decode(bytes),
    encode: (message) => method.responseType.encode(message),
    handle: handlerOf(name),
  }));
}

function grpcJsMethods(definition: GrpcJsDefinition, handlerOf: HandlerOf): Method[] {
  return Object.entries(definition).map(([name, method]) => ({
    path: method.path,
    requestStream: method.requestStream,
    responseStream: method.responseStream,
    decode: (bytes) => method.requestDeserialize(bytes),
    encode: (message) => ({ finish: () => method.responseSerialize(message) }),
    handle: handlerOf(name),
  }));
}
