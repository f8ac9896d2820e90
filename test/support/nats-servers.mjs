// Servers of NATS JetStream on this machine, each with a folder of its own, that are killed, stopped
// and robbed of their folders. Three are a cluster; one stands alone.
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  cpSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

/** How long a busy machine may take for what is waited for. */
const PATIENCE_MS = 20_000;
const LOOK_MS = 50;
/**
 * Below those that systems give to connections: the port of a server that is down must not become
 * that of a client that tries to reach it.
 */
const PORTS = [10_000, 32_000];

const started = new Set();

// Whatever is done with the servers, none outlives the process that started it.
process.prependOnceListener('exit', () => {
  for (const server of started) server.kill('SIGKILL');
});

export class Servers {
  #folder;
  #program;
  #configurations = [];
  #processes = [];
  /** `host:port` of each server, for clients. */
  addresses = [];
  /** The address over HTTP that tells how each server is. */
  monitors = [];
  names = [];

  /** Answers once all are ready. */
  static async start(program, folder, { count = 3, authorization } = {}) {
    const servers = new Servers();
    servers.#program = program;
    servers.#folder = folder;
    mkdirSync(folder, { recursive: true });
    const ports = await freePorts(3 * count);
    const [clients, monitors, routes] = [0, 1, 2].map((part) =>
      ports.slice(part * count, (part + 1) * count).map((port) => `127.0.0.1:${port}`),
    );
    servers.addresses = clients;
    servers.monitors = monitors.map((address) => `http://${address}`);
    for (let index = 0; index < count; index += 1) {
      const name = `n${index}`;
      const path = join(folder, `${name}.json`);
      const configuration = {
        server_name: name,
        listen: clients[index],
        http: monitors[index],
        jetstream: { store_dir: join(folder, name), sync_interval: 'always' },
        ...authorization,
      };
      if (count > 1) {
        const others = routes.map((address) => `nats://${address}`);
        // Clients use the addresses that they are given, and hear of no other.
        configuration.cluster = {
          name: 'vectord',
          listen: routes[index],
          routes: others,
          no_advertise: true,
        };
      }
      writeFileSync(path, JSON.stringify(configuration));
      servers.names.push(name);
      servers.#configurations.push(path);
      servers.run(index);
    }
    try {
      await servers.ready();
    } catch (error) {
      await servers.end();
      throw error;
    }
    return servers;
  }

  /** The processes of the servers. */
  get pids() {
    return this.#processes.map(({ pid }) => pid);
  }

  /** Starts a server that does not run. */
  run(index) {
    const log = openSync(this.#logOf(index), 'a');
    const args = ['-c', this.#configurations[index]];
    const server = spawn(this.#program, args, { stdio: ['ignore', log, log] });
    closeSync(log);
    started.add(server);
    server.once('exit', () => started.delete(server));
    this.#processes[index] = server;
  }

  /**
   * Waits until every server answers, has its replicas up to date and, in a cluster, knows who leads
   * JetStream. Fails at once if one has ended. One that is resumed may not know yet that it is behind.
   */
  async ready(patienceMs = PATIENCE_MS) {
    const giveUpAtMs = performance.now() + patienceMs;
    for (;;) {
      const faults = await Promise.all(this.monitors.map(faultOf));
      if (faults.every((fault) => fault === undefined)) return;
      const hasEnded = this.names.some((_, index) => !this.#runs(index));
      if (hasEnded || performance.now() > giveUpAtMs) {
        const states = this.names.map((name, index) => this.#describe(name, index, faults[index]));
        throw new Error(`the NATS servers are not ready:\n${states.join('\n')}`);
      }
      await sleep(LOOK_MS);
    }
  }

  /** SIGKILL; returns when the process is gone. */
  async kill(index) {
    if (!this.#runs(index)) return;
    const server = this.#processes[index];
    const gone = once(server, 'exit');
    server.kill('SIGKILL');
    await gone;
  }

  suspend(index) {
    this.#processes[index].kill('SIGSTOP');
  }

  resume(index) {
    this.#processes[index].kill('SIGCONT');
  }

  /** Removes all that a killed server has stored. */
  wipe(index) {
    rmSync(join(this.#folder, this.names[index]), { recursive: true, force: true });
  }

  /** Keeps a copy of all that a killed server has stored. */
  save(index) {
    const folder = join(this.#folder, this.names[index]);
    cpSync(folder, `${folder}.saved`, { recursive: true });
  }

  /** Gives a killed server back what `save` kept: all that it has stored since is lost. */
  restore(index) {
    const folder = join(this.#folder, this.names[index]);
    this.wipe(index);
    cpSync(`${folder}.saved`, folder, { recursive: true });
  }

  async end() {
    await Promise.all(this.#processes.map((_, index) => this.kill(index)));
  }

  #runs(index) {
    const { exitCode, signalCode } = this.#processes[index];
    return exitCode === null && signalCode === null;
  }

  /** How a server is, and the end of its log. */
  #describe(name, index, fault = 'ready') {
    const lines = readFileSync(this.#logOf(index), 'utf8').trimEnd().split('\n');
    return [`${name}: ${this.#runs(index) ? fault : 'ended'}`, ...lines.slice(-10)].join('\n');
  }

  #logOf(index) {
    return join(this.#folder, `${this.names[index]}.log`);
  }
}

/** What a server says that is wrong with it; undefined where nothing is. */
async function faultOf(monitor) {
  try {
    const response = await fetch(`${monitor}/healthz`, { signal: AbortSignal.timeout(1_000) });
    const { status, error } = await response.json();
    return status === 'ok' ? undefined : error;
  } catch (error) {
    return error.cause?.message ?? error.message;
  }
}

/** Ports that nobody has, and that the system gives to no connection. */
export async function freePorts(count) {
  const ports = new Set();
  while (ports.size < count) {
    const port = randomInt(...PORTS);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

function isFree(port) {
  const listener = createServer().listen(port, '127.0.0.1');
  return new Promise((resolve) => {
    listener.once('error', () => resolve(false));
    listener.once('listening', () => listener.close(() => resolve(true)));
  });
}
