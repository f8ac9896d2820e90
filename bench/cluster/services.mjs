import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectTo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect } from '../../dist/client/node.js';
import { findNatsServer } from '../../scripts/nats/program.mjs';
import { freePorts, Servers } from '../../test/support/nats-servers.mjs';
import { dimension } from './options.mjs';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const KEY = 'the-key-of-this-benchmark';

/** The processes of a run: three NATS servers, and what is measured beside each other. */
export class Services {
  #folder = mkdtempSync(join(tmpdir(), 'cluster-bench-'));
  #keys = join(this.#folder, 'keys.json');
  #running = [];
  #nats;

  static async start() {
    const services = new Services();
    const keys = { keys: [{ name: 'bench', role: 'readwrite', key: KEY }] };
    writeFileSync(services.#keys, JSON.stringify(keys), { mode: 0o600 });
    services.#nats = await Servers.start(findNatsServer() ?? 'nats-server', services.#folder);
    return services;
  }

  /** Servers that know nothing of each other, on free ports. */
  async servers(name, count) {
    return await this.#start(name, count, {}, []);
  }

  /** A cluster. Of one name, one after the other, they have the same points. */
  async cluster(name, count, settings = {}) {
    const urls = this.#nats.addresses.map((at) => `nats://${at}`).join(',');
    const cluster = {
      CLUSTER_URL: urls,
      CLUSTER_NAME: name.replaceAll(' ', '-'),
      // Several share the servers.
      CLUSTER_LOG_BYTES: String(1024 ** 3),
      ...settings,
    };
    const service = await this.#start(name, count, cluster, this.#nats.pids);
    return { ...service, isCluster: true };
  }

  async stop(service) {
    for (const connection of service.connections) connection.close();
    await Promise.all(service.nodes.map(async (node) => await node.stop()));
  }

  async end() {
    await Promise.all(this.#running.map(async (node) => await node.stop()));
    await this.#nats.end();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** @param others further processes whose time counts */
  async #start(name, count, settings, others) {
    const ports = await freePorts(2 * count);
    const nodes = Array.from({ length: count }, (_, index) => {
      const [http, grpc] = [ports[index], ports[count + index]];
      const folder = join(this.#folder, name, String(index));
      return new Node(folder, http, grpc, { ...settings, SERVICE_KEYS_FILE: this.#keys });
    });
    this.#running.push(...nodes);
    for (const node of nodes) await node.ready();
    return {
      name,
      nodes,
      pids: [nodes.map(({ pid }) => pid), others],
      // One connection for all rounds: it stays with one loop of its server, whose code is compiled then.
      connections: nodes.map(({ grpc }) => connect(`grpc://127.0.0.1:${grpc}`, { key: KEY })),
    };
  }
}

class Node {
  #env;
  #http;
  #log;
  #process;

  constructor(folder, http, grpc, settings) {
    this.#http = http;
    this.grpc = grpc;
    this.url = `http://127.0.0.1:${http}`;
    mkdirSync(folder, { recursive: true });
    this.#log = openSync(`${folder}.log`, 'a');
    this.#env = {
      ...process.env,
      ...settings,
      HTTP_PORT: String(http),
      GRPC_PORT: String(grpc),
      DATA_PATH: folder,
      DIMENSION: String(dimension),
      WARM_METRICS: 'euclidean',
    };
    this.run();
  }

  run() {
    const stdio = ['ignore', this.#log, this.#log];
    this.#process = spawn(process.execPath, [MAIN], { env: this.#env, stdio });
  }

  get pid() {
    return this.#process.pid;
  }

  async ready() {
    const giveUpAt = performance.now() + 60_000;
    while (performance.now() < giveUpAt) {
      const answer = await this.get('/ready');
      if (answer?.status === 200) return;
      await sleep(100);
    }
    throw new Error(`${this.url}/ready does not answer 200`);
  }

  /** Its ports are open, which may be before it answers. */
  async listens() {
    while (!(await connects(this.#http))) await sleep(10);
  }

  /** Undefined where it does not answer. */
  async get(path) {
    const headers = { authorization: `Bearer ${KEY}` };
    return await fetch(`${this.url}${path}`, { headers }).catch(() => undefined);
  }

  async stop() {
    const node = this.#process;
    const hasEnded = () => node.exitCode !== null || node.signalCode !== null;
    if (!hasEnded()) node.kill('SIGTERM');
    while (!hasEnded()) await sleep(50);
  }
}

async function connects(port) {
  const socket = connectTo(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
