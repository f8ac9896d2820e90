// Three servers of NATS JetStream on this machine, each with a folder of its own, that are killed,
// stopped and robbed of their folders.
import { spawn } from 'node:child_process';
import { mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { once } from 'node:events';

const SERVERS = 3;

export class Servers {
  #folder;
  #program;
  #configurations = [];
  #processes = [];
  /** `host:port` of each server, for clients. */
  addresses = [];
  names = [];

  /**
   * @param program path of nats-server
   * @param folder where the servers keep what they store, and their logs
   */
  static async start(program, folder) {
    const servers = new Servers();
    servers.#program = program;
    servers.#folder = folder;
    const ports = await freePorts(3 * SERVERS);
    const routes = ports.slice(SERVERS, 2 * SERVERS).map((port) => `nats://127.0.0.1:${port}`);
    for (let index = 0; index < SERVERS; index += 1) {
      servers.names.push(`n${index}`);
      servers.addresses.push(`127.0.0.1:${ports[index]}`);
      const path = join(folder, `n${index}.json`);
      const configuration = {
        server_name: `n${index}`,
        listen: servers.addresses[index],
        http: `127.0.0.1:${ports[2 * SERVERS + index]}`,
        cluster: { name: 'vectord', listen: `127.0.0.1:${ports[SERVERS + index]}`, routes },
        jetstream: { store_dir: servers.#storeOf(index), sync_interval: 'always' },
      };
      mkdirSync(folder, { recursive: true });
      writeFileSync(path, JSON.stringify(configuration));
      servers.#configurations.push(path);
      servers.run(index);
    }
    return servers;
  }

  /** Starts a server that does not run. */
  run(index) {
    const log = openSync(join(this.#folder, `n${index}.log`), 'a');
    const args = ['-c', this.#configurations[index]];
    this.#processes[index] = spawn(this.#program, args, { stdio: ['ignore', log, log] });
  }

  /** SIGKILL; returns when the process is gone. */
  async kill(index) {
    const process = this.#processes[index];
    if (process.exitCode !== null || process.signalCode !== null) return;
    const gone = once(process, 'exit');
    process.kill('SIGKILL');
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
    rmSync(this.#storeOf(index), { recursive: true, force: true });
  }

  async end() {
    await Promise.all(this.#processes.map((_, index) => this.kill(index)));
  }

  #storeOf(index) {
    return join(this.#folder, `n${index}`);
  }
}

async function freePorts(count) {
  const listeners = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(listeners.map((listener) => once(listener, 'listening')));
  const ports = listeners.map((listener) => listener.address().port);
  await Promise.all(listeners.map((listener) => once(listener.close(), 'close')));
  return ports;
}
