// The two interfaces of vectord, whole, over an engine that answers at once.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../dist/config/config.js';
import { REAL_CLOCK } from '../../dist/core/clock.js';
import { Decoder } from '../../dist/wire/decoder.js';
import { startGrpc } from '../../dist/grpc/server.js';
import { startHttp } from '../../dist/http/server.js';
import { MemoryBudget } from '../../dist/admission/memory-budget.js';
import { Keys } from '../../dist/auth/keys.js';
import { createLogger } from '../../dist/observe/logger.js';
import { ConnectionStats } from '../../dist/observe/connection-stats.js';
import { Requests } from '../../dist/observe/requests.js';
import { formatPointId } from '../../dist/core/point-id.js';
import { Service } from '../../dist/core/service.js';
import { ANSWER_IDS, KEY, LOCALHOST } from './fixed.mjs';

/** Answers the port that it listens on. */
export async function serveGrpc(dimension) {
  const { port } = await startGrpc({ ...parts(dimension, 'grpc'), reflection: true });
  return port;
}

export async function serveHttp(dimension) {
  const { port } = await startHttp(parts(dimension, 'http'));
  return port;
}

/** What both interfaces of vectord are made from, with an engine that answers at once. */
function parts(dimension, protocol) {
  const config = readConfig({ LOG_LEVEL: 'warn' });
  const ids = Buffer.from(ANSWER_IDS.join('').replaceAll('-', ''), 'hex');
  if (formatPointId(ids) !== ANSWER_IDS[0]) throw new Error('the ids are not what they should be');
  const engine = { search: () => ids, status: () => ({ points: ANSWER_IDS.length }) };
  const rules = { dimension, limits: config, defaultEf: config.hnswEf };
  const folder = mkdtempSync(join(tmpdir(), 'vectord-requests-'));
  const keysFile = join(folder, 'keys.json');
  writeFileSync(
    keysFile,
    JSON.stringify({ keys: [{ name: 'bench', role: 'readonly', key: KEY }] }),
  );
  const keys = Keys.load(keysFile);
  const logger = createLogger(config.logLevel);
  rmSync(folder, { recursive: true });
  return {
    host: LOCALHOST,
    clock: REAL_CLOCK,
    port: 0,
    maxConnections: config.maxConnections,
    service: new Service(engine, rules),
    decoder: new Decoder(rules),
    keys,
    inflight: new MemoryBudget(config.maxInflightBytes),
    connectionStats: new ConnectionStats(protocol, logger),
    requests: new Requests({
      protocol,
      logger,
      slowRequestMs: config.slowRequestMs,
      nameOf: (status) => status,
    }),
    logger,
  };
}
