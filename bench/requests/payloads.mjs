// What contents cost the service: in the answers of searches, and in a stream of all points:
// bench/payloads.sh, and bench/README.md says how to read the results.
import { connect } from 'node:http2';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createChannel, createClient, Metadata } from 'nice-grpc';
import { startServer } from '../../examples/demo/server.mjs';
import {
  PointsServiceDefinition,
  ScrollStreamRequest,
  SearchRequest,
  SearchResponse,
  Similarity,
} from '../../dist/gen/vectord/v1/points.js';
import { BENCHMARKS } from '../publish/benchmarks.mjs';
import { machine } from '../publish/machine.mjs';
import { markdown } from '../publish/markdown.mjs';
import { untilLinked } from '../writes/linking.mjs';
import { spread } from '../writes/spread.mjs';
import { readVectors } from '../writes/vectors.mjs';
import { askByH2load } from './h2load.mjs';
import { processorUs } from './processor.mjs';
import { FRAME_BYTES, framed, LIMIT } from './search-message.mjs';

const SERVICE = '/vectord.v1.PointsService';
const CONNECTIONS = 8;
const EF = 64;
const CONTENT_BYTES = 1024;
const LOAD_STEP = 2_000;
const COST_TARGET = 1.35;
const STREAM_TARGET_MB = 300;
const NOTHING = {
  distance: false,
  vector: false,
  content: false,
  contentType: false,
  metadata: false,
};
const FORMS = {
  ids: NOTHING,
  'ids and distances': { ...NOTHING, distance: true },
  'ids, distances and contents': { ...NOTHING, distance: true, content: true },
  'all parts': { distance: true, vector: true, content: true, contentType: true, metadata: true },
};
const RESULTS = fileURLToPath(new URL('../results/', import.meta.url));

const { values: flags } = parseArgs({
  options: {
    data: { type: 'string', default: process.env.VECTORD_DATA },
    short: { type: 'boolean', default: false },
  },
});
const data = readVectors(flags.data, flags.short ? 10_000 : 100_000);
const dimension = data.base[0].length;
const rounds = flags.short ? 3 : 15;
const seconds = flags.short ? 1 : 2;
const about = machine();
const folder = mkdtempSync(join(tmpdir(), 'vectord-payloads-'));
const env = { WARM_METRICS: 'euclidean', LOG_LEVEL: 'error', LOOPS: '1' };
const server = await startServer({ dimension, env, folder: join(folder, 'data') });
const channel = createChannel(server.grpc);
try {
  const defaults = { '*': { metadata: Metadata({ authorization: server.key }) } };
  const client = createClient(PointsServiceDefinition, channel, defaults);
  await store(client);
  await untilLinked(server.pid);
  const searches = await measureSearches(client);
  report(searches, await measureStreams(await client.count({ collection: '' })));
} finally {
  channel.close();
  await server.stop();
  rmSync(folder, { recursive: true });
}

/** Stores the points, each with a text of 1 KiB, by one stream. */
async function store(client) {
  const content = 'x'.repeat(CONTENT_BYTES);
  async function* messages() {
    for (let start = 0; start < data.base.length; start += LOAD_STEP) {
      const vectors = data.base.slice(start, start + LOAD_STEP);
      const points = vectors.map((vector) => ({
        id: '',
        vector,
        content,
        contentType: 0,
        metadata: '',
      }));
      yield { points, ifAbsent: false, collection: '' };
    }
  }
  for await (const { stored } of client.upsertStream(messages())) {
    if (stored === 0n) throw new Error('a batch was not stored');
  }
}

/** Every form of answer once a round, in another order each time: microseconds of the server. */
async function measureSearches(client) {
  const names = Object.keys(FORMS);
  const found = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = -1; round < rounds; round += 1) {
    const vector = data.queries[Math.max(0, round)];
    for (let turn = 0; turn < names.length; turn += 1) {
      const name = names[(turn + round + names.length) % names.length];
      const us = await measureSearch(client, vector, FORMS[name]);
      // In the first round code is compiled.
      if (round >= 0) found[name].push(us);
    }
  }
  return found;
}

async function measureSearch(client, vector, include) {
  const query = { vector, like: '', similarity: Similarity.SIMILARITY_EUCLIDEAN, exact: false };
  const asked = {
    queries: [{ ...query, limit: BigInt(LIMIT), ef: BigInt(EF), include }],
    collection: '',
  };
  const answer = await client.search(asked);
  if (answer.results[0].points.length !== LIMIT) throw new Error('a search finds too few points');
  const body = join(folder, 'request');
  writeFileSync(body, framed(SearchRequest.encode(asked).finish()));
  const answerBytes = FRAME_BYTES + SearchResponse.encode(answer).finish().length;
  const path = `${SERVICE}/Search`;
  const load = {
    body,
    answerBytes,
    connections: CONNECTIONS,
    seconds,
    log: join(folder, 'log'),
    path,
  };
  const beforeUs = processorUs(server.pid);
  const { answers } = askByH2load(server, load);
  return (processorUs(server.pid) - beforeUs) / answers;
}

/** Megabytes of vectors and contents for each second of the server's processor time. */
async function measureStreams({ count }) {
  const include = { ...NOTHING, vector: true, content: true };
  const asked = { after: '', order: 0, include, collection: '' };
  const message = framed(ScrollStreamRequest.encode(asked).finish());
  const bytes = Number(count) * (dimension * Float32Array.BYTES_PER_ELEMENT + CONTENT_BYTES);
  const session = connect(`http://${server.grpc}`);
  const found = [];
  for (let round = -1; round < rounds; round += 1) {
    const beforeUs = processorUs(server.pid);
    const received = await drain(session, message);
    if (received < bytes) throw new Error(`the stream has ${received} bytes, expected ${bytes}`);
    if (round >= 0) found.push(bytes / (processorUs(server.pid) - beforeUs));
  }
  session.close();
  return found;
}

/** Reads a stream to its end, and nothing of what it holds; answers its bytes. */
function drain(session, message) {
  return new Promise((resolve, reject) => {
    const call = session.request({
      ':method': 'POST',
      ':path': `${SERVICE}/ScrollStream`,
      'content-type': 'application/grpc',
      te: 'trailers',
      authorization: server.key,
    });
    let bytes = 0;
    call.on('data', (chunk) => (bytes += chunk.length));
    call.on('error', reject);
    call.on('trailers', ({ 'grpc-status': status }) => {
      if (status === '0') resolve(bytes);
      else reject(new Error(`the stream ends with the status ${status}`));
    });
    call.end(message);
  });
}

function report(searches, streams) {
  const [ids] = Object.keys(FORMS);
  const wanted = 'ids, distances and contents';
  const ratio = (name) =>
    spread(
      searches[name].map((us, round) => us / searches[ids][round]),
      2,
    );
  const settings = {
    data: `${data.name}, ${data.base.length} points of ${dimension} values and ${CONTENT_BYTES} bytes of content`,
    search: `vectord.v1 over gRPC, Euclidean, limit ${LIMIT}, ef ${EF}, LOOPS=1`,
    client: `h2load, ${CONNECTIONS} connections with one request at a time`,
    stream: 'ScrollStream of vectors and contents of all points, one connection',
    rounds: `${rounds} of ${seconds} s each; the median, the least and the most`,
  };
  const tables = [
    {
      title: 'Processor time of the service for a search',
      rows: Object.keys(FORMS).map((name) => ({
        'answer holds': name,
        µs: spread(searches[name], 0),
        'beside ids': ratio(name),
      })),
    },
    {
      title: 'A stream of all points',
      rows: [{ 'MB for each second of processor time': spread(streams, 0) }],
    },
  ];
  const cost = ratio(wanted);
  const rate = spread(streams, 0);
  const judge = (met) => (flags.short ? null : met);
  const verdicts = [
    {
      what: 'server CPU of a search that answers distances and contents, beside ids',
      found: cost,
      target: `at most ${COST_TARGET}`,
      met: judge(cost.median <= COST_TARGET),
    },
    {
      what: 'MB of a stream for each second of server CPU',
      found: rate,
      target: `at least ${STREAM_TARGET_MB}`,
      met: judge(rate.median >= STREAM_TARGET_MB),
    },
  ];
  const results = { settings, tables, verdicts, decides: !flags.short };
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(`${RESULTS}payloads.json`, `${JSON.stringify(results, undefined, 1)}\n`);
  console.log(markdown(BENCHMARKS.payloads.title, { machine: about, ...results }));
  process.exitCode = verdicts.some(({ met }) => met === false) ? 1 : 0;
}
