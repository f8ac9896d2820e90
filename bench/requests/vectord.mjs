// The two interfaces of vectord, whole, over an engine that answers at once.
import { SharedCount } from '../../dist/admission/shared-count.js';
import { sha256 } from '../../dist/auth/keys-file.js';
import { readConfig } from '../../dist/config/config.js';
import { REAL_CLOCK } from '../../dist/core/clock.js';
import { formatPointId } from '../../dist/core/point-id.js';
import { Acceptor } from '../../dist/engine/acceptor.js';
import { OpenCalls } from '../../dist/grpc/open-calls.js';
import { createLogger } from '../../dist/observe/logger.js';
import { Loop, rulesOf } from '../../dist/process/loop.js';
import { DecoderThread } from '../../dist/wire/decoder-thread.js';
import { ANSWER_IDS, KEY, LOCALHOST } from './fixed.mjs';

/** Answers the port that it listens on. */
export async function serveGrpc(dimension) {
  return (await serve(dimension)).grpc.port;
}

export async function serveHttp(dimension) {
  return (await serve(dimension)).http.port;
}

/** Both interfaces on this loop. */
async function serve(dimension) {
  const config = readConfig({ LOG_LEVEL: 'warn', LOOPS: '1' });
  const ids = Buffer.from(ANSWER_IDS.join('').replaceAll('-', ''), 'hex');
  if (formatPointId(ids) !== ANSWER_IDS[0]) throw new Error('the ids are not what they should be');
  const status = { points: ANSWER_IDS.length, isFull: false };
  const engine = { dimension, search: () => ids, status: () => status };
  const { maxConnections } = config;
  const bind = async () => await Acceptor.bind({ host: LOCALHOST, port: 0, maxConnections });
  const ports = { http: await bind(), grpc: await bind() };
  const holder = { name: 'bench', role: 'readonly' };
  const settings = {
    config,
    keys: [{ sha256: sha256(KEY), holder, isShort: false }],
    tlsPair: undefined,
    inflight: new SharedCount().memory,
    openCalls: new OpenCalls().memory,
  };
  const loop = new Loop(settings, {
    ...ports,
    engine,
    large: new DecoderThread(rulesOf(config, engine)),
    metrics: async () => '',
    logger: createLogger(config.logLevel),
    clock: REAL_CLOCK,
  });
  for (const protocol of ['http', 'grpc']) {
    ports[protocol].start({
      onRefused: (address) => loop.noteRefused(protocol, address),
      onFailed: (reason) => console.error(reason),
    });
  }
  return ports;
}
