// What NATS servers with JetStream on this machine are started with, and how they are asked whether
// they are well. Three are a cluster; one stands alone.
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { join } from 'node:path';

/**
 * Below those that systems give to connections: the port of a server that is down must not become
 * that of a client that tries to reach it.
 */
const PORTS = [10_000, 32_000];

/** How many ports each server takes: for clients, for its monitor and for the other servers. */
export const PORTS_PER_SERVER = 3;

/**
 * Servers that keep what they store in a folder: for each its name, `host:port` for clients, the
 * address over HTTP that tells how it is, and its configuration.
 */
export function serversIn(folder, ports, { jetstream, ...more } = {}) {
  const count = ports.length / PORTS_PER_SERVER;
  const [clients, monitors, routes] = [0, 1, 2].map((part) =>
    ports.slice(part * count, (part + 1) * count).map((port) => `127.0.0.1:${port}`),
  );
  return clients.map((address, index) => {
    const name = `n${index}`;
    const configuration = {
      server_name: name,
      listen: address,
      http: monitors[index],
      jetstream: { store_dir: join(folder, name), sync_interval: 'always', ...jetstream },
      ...more,
    };
    if (count > 1) {
      // Clients use the addresses that they are given, and hear of no other.
      configuration.cluster = {
        name: 'vectord',
        listen: routes[index],
        routes: routes.map((route) => `nats://${route}`),
        no_advertise: true,
      };
    }
    return { name, address, monitor: `http://${monitors[index]}`, configuration };
  });
}

/** What a server says that is wrong with it; undefined where nothing is. */
export async function faultOf(monitor) {
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
