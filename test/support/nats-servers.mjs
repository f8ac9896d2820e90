// Servers of NATS JetStream on this machine, each with a folder of its own, that are killed, stopped
// and robbed of their folders. Three are a cluster; one stands alone.
import { spawn } from 'node:child_process';
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
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { faultOf, freePorts, PORTS_PER_SERVER, serversIn } from '../../scripts/nats/servers.mjs';

export { freePorts } from '../../scripts/nats/servers.mjs';

/** How long a busy machine may take for what is waited for. */
const PATIENCE_MS = 20_000;
const LOOK_MS = 50;
/** A server that does not answer for so long is stopped. */
const SILENCE_MS = 100;

/** More than the streams of all tests of a file reserve, whatever the disk has left. */
const STORE_BYTES = 2 ** 40;

const started = new Set();

// Whatever is done with the servers, none outlives the process that started it.
process.prependOnceListener('exit', () => {
  for (const server of started) server.kill('SIGKILL');
});

export class Servers {
  #folder;
  #program;
  #configurations = [];
  #wrappers = [];
  #processes = [];
  /** `host:port` of each server, for clients. */
  addresses = [];
  /** The address over HTTP that tells how each server is. */
  monitors = [];
  names = [];

  /** Answers once all are ready. */
  static async start(program, folder, { count = 3, settings, wrap = () => [] } = {}) {
    const servers = new Servers();
    servers.#program = program;
    servers.#folder = folder;
    mkdirSync(folder, { recursive: true });
    const ports = await freePorts(PORTS_PER_SERVER * count);
    const jetstream = { max_file_store: STORE_BYTES };
    const planned = serversIn(folder, ports, { jetstream, ...settings });
    servers.addresses = planned.map(({ address }) => address);
    servers.monitors = planned.map(({ monitor }) => monitor);
    servers.names = planned.map(({ name }) => name);
    for (const [index, { name, configuration }] of planned.entries()) {
      const path = join(folder, `${name}.json`);
      writeFileSync(path, JSON.stringify(configuration));
      servers.#configurations.push(path);
      servers.#wrappers.push(await wrap(configuration.jetstream.store_dir));
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
    const command = [...this.#wrappers[index], this.#program, '-c', this.#configurations[index]];
    const server = spawn(command[0], command.slice(1), { stdio: ['ignore', log, log] });
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
      const faults = await this.faults();
      if (faults.every((fault) => fault === undefined)) return;
      const hasEnded = this.names.some((_, index) => !this.#runs(index));
      if (hasEnded || performance.now() > giveUpAtMs) {
        const states = this.names.map((name, index) => this.#describe(name, index, faults[index]));
        throw new Error(`the NATS servers are not ready:\n${states.join('\n')}`);
      }
      await sleep(LOOK_MS);
    }
  }

  /** What each says that is wrong with it; undefined where nothing is. */
  async faults() {
    return await Promise.all(this.monitors.map(faultOf));
  }

  /** Ends a server; returns when the process is gone. */
  async kill(index, signal = 'SIGKILL') {
    if (!this.#runs(index)) return;
    const server = this.#processes[index];
    const gone = once(server, 'exit');
    server.kill(signal);
    await gone;
  }

  /** Stops a server; returns when it answers no more, as its threads run on until the signal reaches them. */
  async suspend(index) {
    this.#processes[index].kill('SIGSTOP');
    const giveUpAtMs = performance.now() + PATIENCE_MS;
    const options = () => ({ signal: AbortSignal.timeout(SILENCE_MS) });
    const ask = async () => await (await fetch(this.monitors[index], options())).text();
    while (await ask().catch(() => false)) {
      if (performance.now() > giveUpAtMs) throw new Error(`${this.names[index]} does not stop`);
      await sleep(1);
    }
  }

  resume(index) {
    this.#processes[index].kill('SIGCONT');
  }

  /** Where a server has all that it has stored. */
  folder(index) {
    return join(this.#folder, this.names[index]);
  }

  /** Removes all that a killed server has stored. */
  wipe(index) {
    rmSync(this.folder(index), { recursive: true, force: true });
  }

  /** Keeps a copy of all that a killed server has stored. */
  save(index) {
    const folder = this.folder(index);
    cpSync(folder, `${folder}.saved`, { recursive: true });
  }

  /** Gives a killed server back what `save` kept: all that it has stored since is lost. */
  restore(index) {
    const folder = this.folder(index);
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
