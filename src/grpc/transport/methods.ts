import type { CallContext } from 'nice-grpc';

/** A service as ts-proto generates its definition. */
export interface ServiceDefinition {
  readonly fullName: string;
  readonly methods: Readonly<Record<string, MethodDefinition>>;
}

interface MethodDefinition {
  readonly name: string;
  readonly requestType: { decode(bytes: Uint8Array): unknown };
  readonly requestStream: boolean;
  // oxlint-disable-next-line typescript/no-explicit-any -- each method has a type of its own
  readonly responseType: { encode(message: any): { finish(): Uint8Array } };
  readonly responseStream: boolean;
}

/** A method that can be called. */
export interface Method {
  readonly path: string;
  readonly definition: MethodDefinition;
  /** Answers a promise of the response, or an iterable of responses. */
  readonly handle: (request: unknown, context: CallContext) => unknown;
}

/** The methods of a service whose handlers are written for nice-grpc. */
export function methodsOf(definition: ServiceDefinition, implementation: object): Method[] {
  return Object.entries(definition.methods).map(([key, method]) => {
    const handler: unknown = Reflect.get(implementation, key);
    if (typeof handler !== 'function') {
      throw new TypeError(`${definition.fullName} has no handler for ${method.name}`);
    }
    return {
      path: `/${definition.fullName}/${method.name}`,
      definition: method,
      handle: handler.bind(implementation) as Method['handle'],
    };
  });
}
