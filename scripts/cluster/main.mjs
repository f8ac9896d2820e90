// Runs a cluster on this machine: three NATS servers, and three nodes of vectord for each shard. Usage:
// see --help.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { findNatsServer, findProgram, NATS_SERVER, NATS_SERVER_FOLDER } from '../nats/program.mjs';
import { faultOf, freePorts, PORTS_PER_SERVER, serversIn } from '../nats/servers.mjs';
import { Processes } from './processes.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MAIN = join(ROOT, 'dist/main.js');

/** How many NATS servers there are, and how many nodes each shard has. */
const COUNT = 3;
const PORTS_PER_NODE = 2;
/** Nodes wait for each other, and the servers for an election. */
const PATIENCE_MS = 60_000;
const FIRST_DIMENSION = 4;
/** The least that there may be: servers on one disk reserve it three times. */
const LOG_BYTES = 1024 ** 3;

const HELP = `Usage: npm run cluster [-- OPTIONS]

Runs a cluster on this machine: three NATS servers and three nodes of vectord, until Ctrl-C. Its
points are there again at the next start. If a process has ended, Enter starts it again. It shows what a cluster does; on one machine it survives no
more than a single server. CLUSTER_SHARDS=2 in the environment makes one of two shards, with three nodes
each.

  --folder FOLDER  where all is kept (.cluster)
  --dimension N    values of each vector, set at the first start (${FIRST_DIMENSION})
  --ports N        takes the ${portsFor(1)} ports from N on, in place of free ones, and ${COUNT * PORTS_PER_NODE} more for each
                   further shard
  --help           prints this page

nats-server is taken from NATS_SERVER, PATH or .cache/nats-server; if it is in none of them, Go installs
it there. Settings of vectord, such as LOOPS=1, hold for each node.
`;

try {
  await main();
} catch (error) {
  process.stderr.write(`cluster: ${error.message}\n`);
  process.exitCode = 1;
}

async function main() {
  const { values } = parseArgs({
    options: {
      folder: { type: 'string' },
      dimension: { type: 'string' },
      ports: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  if (!existsSync(MAIN)) throw new Error('vectord is not built: `npm ci` does it');
  const { npmEnd } = await import('../../dist/process/npm.js');
  const { readPart } = await import('../../dist/config/config.js');
  const { clusterShards: shards } = readPart(process.env, ['clusterShards']);
  const stopped = Promise.race([nextSignal(), npmEnd()]);
  const program = natsServer();
  // npm starts scripts in the project's folder; a path is meant from where npm was called.
  const { INIT_CWD = '.' } = process.env;
  const { folder: named } = values;
  const folder = named === undefined ? join(ROOT, '.cluster') : resolve(INIT_CWD, named);
  refuseSecond(folder);
  const count = portsFor(shards);
  const ports =
    values.ports === undefined ? await freePorts(count) : portsFrom(values.ports, count);
  const processes = new Processes();
  try {
    const starting = start(processes, program, folder, ports, shards, values.dimension);
    starting.catch(() => undefined);
    const cluster = await Promise.race([starting, stopped.then(() => undefined)]);
    if (cluster !== undefined) {
      print(cluster);
      await Promise.race([stopped, allEnded(processes)]);
    }
  } finally {
    line('ending all');
    process.stdin.pause();
    await processes.endAll('node', 'NATS');
  }
  line(`all have ended; the points are in ${folder}`);
}

/** Resolves with the first signal to stop. Further ones, as npm passes them on, change nothing. */
function nextSignal() {
  return new Promise((done) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, done);
  });
}

/** Says of each process that ends by itself that it has; fails once none is left. */
function allEnded(processes) {
  return new Promise((_, reject) => {
    processes.onEnd = (name, how, log) => {
      line(`${name} has ended (${how}), its log is ${log}; ${processes.count} others go on`);
      if (processes.count === 0) reject(new Error('all processes have ended'));
      else startAgainOnEnter(processes);
    };
  });
}

/** Input is read once something has ended: the system stops who reads it in the background. */
function startAgainOnEnter(processes) {
  line('Enter starts it again');
  process.stdin.once('error', () => undefined);
  process.stdin.once('data', () => {
    for (const { name, pid } of processes.startEnded()) line(`${name} runs again, process ${pid}`);
  });
}

function natsServer() {
  const found = findNatsServer();
  if (found !== undefined) return found;
  const go = findProgram('go');
  if (go === undefined) {
    throw new Error(
      'nats-server is neither on PATH nor named by NATS_SERVER: install it as ' +
        'https://docs.nats.io/running-a-nats-service/introduction/installation says, or install Go, ' +
        'which gets it',
    );
  }
  line(`Go installs ${NATS_SERVER} in ${NATS_SERVER_FOLDER}`);
  const env = { ...process.env, GOBIN: NATS_SERVER_FOLDER };
  execFileSync(go, ['install', NATS_SERVER], { env, stdio: 'inherit' });
  return findNatsServer();
}

/** Two processes on one folder do not notice each other. */
function refuseSecond(folder) {
  const ps = findProgram('ps');
  if (ps === undefined) return;
  const processes = execFileSync(ps, ['-A', '-ww', '-o', 'pid=,args='], { encoding: 'utf8' });
  const found = processes.split('\n').find((one) => one.includes(`-c ${join(folder, 'n')}`));
  if (found === undefined) return;
  throw new Error(
    `a cluster runs in ${folder} already, of which this is a process: ${found.trim()}. End it first, or ` +
      'name another folder with --folder',
  );
}

function portsFor(shards) {
  return COUNT * (shards * PORTS_PER_NODE + PORTS_PER_SERVER);
}

function portsFrom(text, count) {
  const first = Number(text);
  if (Number.isInteger(first) && first > 0 && first + count <= 65_536) {
    return Array.from({ length: count }, (_, at) => first + at);
  }
  throw new Error(
    `--ports is ${text}, expected a port from 1 to ${65_536 - count}: ${count} from it on are taken`,
  );
}

async function start(processes, program, folder, ports, shards, dimension) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const nodeCount = shards * COUNT;
  const servers = serversIn(folder, ports.slice(nodeCount * PORTS_PER_NODE));
  for (const { name, configuration } of servers) {
    const path = join(folder, `${name}.json`);
    writeFileSync(path, JSON.stringify(configuration));
    processes.start(`NATS server ${name}`, program, ['-c', path], {
      log: join(folder, `${name}.log`),
    });
  }
  for (const { name, monitor } of servers) {
    await processes.untilReady(async () => {
      const fault = await faultOf(monitor);
      return fault && `the NATS server ${name} is not ready: ${fault}`;
    }, PATIENCE_MS);
  }
  const isFirst = !existsSync(join(folder, 'node-1'));
  const keysFile = join(folder, 'keys.json');
  if (!existsSync(keysFile)) {
    const env = { ...process.env, SERVICE_KEYS_FILE: keysFile };
    execFileSync(process.execPath, [MAIN, 'keys', 'create'], { env });
  }
  const url = servers.map(({ address }) => `nats://${address}`).join(',');
  const said = dimension ?? (isFirst ? String(FIRST_DIMENSION) : undefined);
  const nodes = Array.from({ length: nodeCount }, (_, index) => {
    const [name, http, grpc] = [`node ${index + 1}`, ports[index], ports[nodeCount + index]];
    const shard = Math.floor(index / COUNT);
    const env = {
      CLUSTER_LOG_BYTES: String(LOG_BYTES),
      ...process.env,
      ...(said === undefined ? {} : { DIMENSION: said }),
      CLUSTER_URL: url,
      CLUSTER_REPLICAS: String(COUNT),
      CLUSTER_SHARD: String(shard),
      SERVICE_KEYS_FILE: keysFile,
      DATA_PATH: join(folder, `node-${index + 1}`),
      HTTP_PORT: String(http),
      GRPC_PORT: String(grpc),
    };
    const log = join(folder, `node-${index + 1}.log`);
    const pid = processes.start(name, process.execPath, [MAIN, 'serve'], { log, env });
    return { name, shard, pid, http: `http://127.0.0.1:${http}`, grpc: `grpc://127.0.0.1:${grpc}` };
  });
  for (const { name, http } of nodes) {
    await processes.untilReady(async () => {
      const answer = await fetch(`${http}/ready`).catch(({ message }) => ({ status: message }));
      return answer.status === 200 ? undefined : `${name} is not ready: ${answer.status}`;
    }, PATIENCE_MS);
  }
  const { keys } = JSON.parse(readFileSync(keysFile, 'utf8'));
  const key = keys.find(({ role }) => role === 'readwrite')?.key;
  const headers = { 'api-key': key };
  const info = await (await fetch(`${nodes[0].http}/v1/info`, { headers })).json();
  return { folder, url, keysFile, key, nodes, shards, dimension: info.dimension };
}

function print({ folder, url, keysFile, key, nodes, shards, dimension }) {
  const vector =
    dimension > 16
      ? `'"$(node -p 'JSON.stringify(Array(${dimension}).fill(1))')"'`
      : JSON.stringify(Array.from({ length: dimension }, (_, at) => at));
  const post = (node, path, body) =>
    `  curl -sS ${node.http}/v1/points/${path} -H 'api-key: ${key}' \\\n` +
    `    -H 'content-type: application/json' -d '${body}'`;
  const nodeLines = nodes.map(({ name, shard, pid, http, grpc }) => {
    const place = shards > 1 ? `  shard ${shard}` : '';
    return `  ${name}  ${http}  ${grpc}${place}  process ${pid}`;
  });
  line(`${COUNT} NATS servers and ${nodes.length} nodes run, in ${folder}, where their logs are:

${nodeLines.join('\n')}
  NATS    ${url}
  key     ${key} (readwrite, in ${keysFile})

Store a point through one node, and find it through another:

${post(nodes[0], 'upsert', `{"points": [{"vector": ${vector}, "content": "hello"}]}`)}
${post(nodes.at(-1), 'search', `{"vector": ${vector}, "similarity": "Euclidean", "limit": 3, "include": ["content"]}`)}

See its state, also after you have killed a process:

  CLUSTER_URL=${url} node ${MAIN} cluster status

If a process has ended, Enter starts it again. Ctrl-C ends all.`);
}

function line(text) {
  process.stdout.write(`${text}\n`);
}
