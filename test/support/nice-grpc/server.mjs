// The gRPC interface of one loop on nice-grpc's own server, with the services, the keys and the
// record of each call that src/grpc/server.ts has. Our own transport is missing, and with it the
// limits of connections, of open calls, and of what has not come whole.
import { connect } from 'node:net';
import { createServer, ServerError, Status } from 'nice-grpc';
import { CallLifecycle } from '../../../dist/grpc/call-lifecycle.js';
import { vectorDbDefinition } from '../../../dist/grpc/definition.js';
import { STATUS_DETAILS } from '../../../dist/grpc/transport/metadata.js';
import { checkAccess } from '../../../dist/grpc/access-control.js';
import { vectorDbHandlers } from '../../../dist/grpc/handlers.js';
import { Health } from '../../../dist/grpc/health.js';
import { grpcMethods } from '../../../dist/grpc/methods.js';
import { reflection, reflectionDefinitions } from '../../../dist/grpc/reflection.js';
import { REQUEST_ID } from '../../../dist/grpc/server-error.js';
import { pointsServiceDefinition } from '../../../dist/grpc/v1-definition.js';
import { pointsServiceHandlers } from '../../../dist/grpc/v1-handlers.js';
import { HealthDefinition } from '../../../dist/gen/grpc/health/v1/health.js';

export function createGrpc(options) {
  const { service, points, decoder, clock } = options;
  const server = createServer({
    'grpc.max_receive_message_length': service.rules.limits.maxRequestBytes,
  }).use(accessControl(options));
  const health = new Health(service, clock);
  server.add(vectorDbDefinition, vectorDbHandlers(service, decoder));
  server.add(pointsServiceDefinition, pointsServiceHandlers(points, decoder, options.info));
  server.add(HealthDefinition, health);
  if (options.reflection) {
    for (const definition of reflectionDefinitions) server.add(definition, reflection);
  }
  // It takes no sockets: each connection goes on to a port that it listens on.
  const listening = server.listen('127.0.0.1:0');
  return {
    async take(accepted) {
      const client = accepted.open(false);
      if (client !== undefined) joinSockets(client, connect(await listening, '127.0.0.1'));
    },
    async close(graceMs) {
      health.close();
      // grpc-js never calls back where a session was destroyed just before: the grace ends that, too.
      let endGrace;
      const graceIsOver = new Promise((resolve) => {
        endGrace = clock.after(graceMs, () => resolve(server.forceShutdown()));
      });
      await Promise.race([server.shutdown(), graceIsOver]);
      endGrace();
    },
  };
}

/** Key and role before each call, and a record of its end. */
function accessControl({ service: { rules }, keys, inflight, openCalls, requests }) {
  const methodOf = grpcMethods({ rules, inflight, openBudget: openCalls.budget, requests });
  return async function* admit(call, context) {
    const method = methodOf(call.method.path);
    const record = new CallLifecycle(method, refusalOf(method, context, keys), requests, () => {});
    try {
      if (record.refusal !== undefined) throw record.refusal;
      // Messages that hold vectors come as they were sent.
      if (call.request instanceof Uint8Array) record.received(call.request.length);
      record.decoded(call.request);
      const answer = yield* call.next(call.request, context);
      noteAnswer(record, context, Status.OK);
      return answer;
    } catch (error) {
      const code = error instanceof ServerError ? error.code : Status.UNKNOWN;
      noteAnswer(record, context, code, error);
      throw error;
    } finally {
      record.ended();
    }
  };
}

function refusalOf({ access }, { metadata }, keys) {
  if (access === 'anyone') return undefined;
  return checkAccess(access, metadata.getAll('authorization'), keys);
}

/** Adds to the trailers what our own transport would send in them. */
function noteAnswer(record, { signal, trailer }, code, failure) {
  // A call that its client has given up has no status.
  if (signal.aborted) return;
  const trailers = {};
  if (trailer.has(REQUEST_ID)) trailers[REQUEST_ID] = trailer.get(REQUEST_ID);
  record.answered(code, trailers, failure);
  const { [REQUEST_ID]: id, [STATUS_DETAILS]: details } = trailers;
  if (id !== undefined) trailer.set(REQUEST_ID, id);
  if (details !== undefined) trailer.set(STATUS_DETAILS, Buffer.from(details, 'base64'));
}

/** Sends what comes from each on to the other. When one is closed, so is the other. */
function joinSockets(one, other) {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ]) {
    from.on('error', () => {});
    from.once('close', () => to.destroySoon());
    from.pipe(to);
  }
}
