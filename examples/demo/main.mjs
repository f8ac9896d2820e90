// Starts a vectord of its own, stores real sentence embeddings in it and looks for the texts that
// are nearest to some others, over both interfaces.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { grpcClient, httpClient } from './clients.mjs';
import { readBase, readQueries } from './embeddings.mjs';
import { format, line, progress, shorten } from './print.mjs';
import { startServer } from './server.mjs';

const SAMPLE = fileURLToPath(new URL('data', import.meta.url));
const BATCH_POINTS = 500;
const QUERIES = 5;
const LIMIT = 3;

const HELP = `Usage: npm run demo [-- --data FOLDER]

Starts a vectord of its own, stores 3,000 real sentence embeddings in it and looks for the texts
nearest to some others, over gRPC and HTTP, under Cosine and Euclidean. Nothing is left behind.

  --data FOLDER   takes all embeddings from such a folder instead; for what it holds, see
                  examples/demo/data/README.md
  --help          prints this page
`;

/** How the process ends when a signal ends it, by the custom of shells. */
const SIGNAL_EXIT_CODES = new Map([
  ['SIGINT', 130],
  ['SIGTERM', 143],
]);

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`demo: ${error.message}\n`);
  process.exitCode = 1;
}

async function main() {
  const { values } = parseArgs({
    options: { data: { type: 'string' }, help: { type: 'boolean' } },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  // npm starts scripts in the project's folder; a path is meant from where npm was called.
  const { INIT_CWD = '.' } = process.env;
  const folder = values.data === undefined ? SAMPLE : path.resolve(INIT_CWD, values.data);
  const base = readBase(folder);
  const queries = readQueries(folder);
  line(`${format(base.texts.length)} embeddings of Debian package descriptions`);

  const signal = nextSignal();
  const server = await startServer(base);
  line(`vectord is ready: HTTP at ${server.http}, gRPC at ${server.grpc}`);
  try {
    return await Promise.race([demonstrate(server, base, queries), signal]);
  } finally {
    await server.stop();
    line('vectord has stopped, and its data folder is removed.');
  }
}

/** @returns {Promise<number>} the exit code, once a signal to stop arrives */
function nextSignal() {
  return new Promise((resolve) => {
    for (const [signal, code] of SIGNAL_EXIT_CODES) process.once(signal, () => resolve(code));
  });
}

/**
 * @param {import('./server.mjs').Server} server
 * @param {import('./embeddings.mjs').Embeddings} base
 * @param {import('./embeddings.mjs').Embeddings} queries
 * @returns {Promise<number>} the exit code
 */
async function demonstrate(server, base, queries) {
  const clients = [grpcClient(server.grpc, server.key), httpClient(server.http, server.key)];
  const [grpc] = clients;
  await load(grpc, base);
  line('Searching at once: exact scans answer until a graph is ready in the background.');
  // The first call on a connection also opens it.
  for (const client of clients) await client.search(queries.vector(0), 'Cosine', 1);

  let answers = 0;
  let agreed = 0;
  for (let row = 0; row < Math.min(QUERIES, queries.texts.length); row += 1) {
    line(`\n${shorten(queries.texts[row], 0)}`);
    for (const similarity of ['Cosine', 'Euclidean']) {
      answers += 1;
      agreed += await compare(clients, queries.vector(row), similarity);
    }
  }
  clients.forEach((client) => client.close());
  line(`\nBoth interfaces gave the same answer in ${agreed} of ${answers} searches.`);
  return agreed === answers ? 0 : 1;
}

/**
 * Stores all embeddings, batch after batch; each is on disk before the next one is sent.
 * @param {import('./clients.mjs').Client} client
 * @param {import('./embeddings.mjs').Embeddings} base
 */
async function load(client, { texts, vector }) {
  const bar = progress('Storing', texts.length);
  const startMs = performance.now();
  try {
    for (let start = 0; start < texts.length; start += BATCH_POINTS) {
      const batch = texts.slice(start, start + BATCH_POINTS);
      await client.insertBatch(batch.map((text, n) => ({ vector: vector(start + n), text })));
      bar.update(start + batch.length);
    }
  } finally {
    // A bar that is left running keeps the process and the terminal.
    bar.stop();
  }
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  line(`Stored over ${client.name} in batches of ${BATCH_POINTS} in ${seconds} s, all on disk.`);
}

/**
 * Asks the same of every client and prints what the first one found.
 * @param {readonly import('./clients.mjs').Client[]} clients
 * @param {number[]} vector
 * @param {import('./clients.mjs').SimilarityName} similarity
 * @returns {Promise<number>} 1 if all answers are the same, else 0
 */
async function compare(clients, vector, similarity) {
  const answers = [];
  for (const client of clients) {
    const startMs = performance.now();
    const ids = await client.search(vector, similarity, LIMIT);
    const ms = performance.now() - startMs;
    const texts = await Promise.all(ids.map((id) => client.getText(id)));
    answers.push({ name: client.name, ms, ids, texts });
  }
  const [first] = answers;
  const same = answers.every(({ ids }) => ids.join() === first.ids.join());
  const times = answers.map(({ name, ms }) => `${name} ${ms.toFixed(1)} ms`).join(', ');
  line(`  ${similarity.padEnd(9)}  ${times}, ${same ? 'same answer' : 'DIFFERENT ANSWERS'}`);
  for (const { name, texts } of same ? [first] : answers) {
    if (!same) line(`    ${name}`);
    texts.forEach((text, place) => line(`    ${place + 1}. ${shorten(text, 7)}`));
  }
  return same ? 1 : 0;
}
