import type { Operation, Requests } from '../observe/requests.js';

/** Methods by their names: clients may send some thirty, and each would be counted for good. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'DELETE']);

/** The kinds of HTTP requests: a method and the pattern of a route, never a path as it was sent. */
export class HttpOperations {
  readonly #byRoute = new Map<string, Map<string, Operation>>();

  constructor(private readonly requests: Requests) {}

  of(method: string, route: string): Operation {
    const known = METHODS.has(method) ? method : 'other';
    const byMethod = this.#byRoute.get(route) ?? new Map<string, Operation>();
    this.#byRoute.set(route, byMethod);
    const operation = byMethod.get(known) ?? this.requests.addOperation({ method: known, route });
    byMethod.set(known, operation);
    return operation;
  }
}
