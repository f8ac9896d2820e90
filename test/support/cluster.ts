import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openClients, type VectorClient } from './clients.js';
import { makeTemporaryFolder } from './folders.js';
import { Link } from './link.js';
import { freePorts, Servers } from './nats-servers.mjs';
import { startServer, type TestServer } from './server.js';
import { SmallDisk } from './small-disk.js';
import { findNatsServer } from './tools.mjs';
import { Vectord } from './vectord.js';

const NATS_SERVER = findNatsServer() ?? '';

/** Why the tests of a cluster are skipped, if they are. */
export const HAS_NO_NATS = NATS_SERVER === '';

/** How many bytes a disk of its own has for each node, and for each NATS server. */
export interface DiskSizes {
  readonly node: number;
  readonly server: number;
}

/** Nodes on this machine, and the NATS servers that they need. */
export class TestCluster {
  readonly nodes: TestServer[] = [];
  /** Those of each node to the servers, if it has any. */
  readonly links: (readonly Link[])[] = [];
  /** That of each node, if it has one of its own. */
  readonly nodeDisks: SmallDisk[] = [];
  readonly #environments: Record<string, string>[] = [];
  readonly #paths: string[] = [];

  private constructor(
    readonly servers: Servers,
    /** That of each server, if it has one of its own. */
    readonly serverDisks: readonly SmallDisk[],
  ) {}

  /**
   * One shard with three nodes on three NATS servers, unless told otherwise; with `links` that can be
   * cut, and with `disks` each has one of its own. Of several shards the nodes of the first come first.
   */
  static async start(
    env: Readonly<Record<string, string>> = {},
    {
      shards = 1,
      nodes: replicas = 3,
      servers: count = 3,
      links: hasLinks = false,
      disks,
      settings = {},
      login = '',
    }: {
      shards?: number;
      nodes?: number;
      servers?: 1 | 3;
      links?: boolean;
      disks?: DiskSizes;
      /** Of the NATS servers, and who the nodes are to them, as `user:password@`. */
      settings?: object;
      login?: string;
    } = {},
  ): Promise<TestCluster> {
    const serverDisks: SmallDisk[] = [];
    const wrap = async (folder: string) => await mount(serverDisks, folder, disks?.server);
    const servers = await Servers.start(NATS_SERVER, makeTemporaryFolder(), {
      count,
      ...(disks && { wrap }),
      settings,
    });
    const cluster = new TestCluster(servers, serverDisks);
    const nodes = shards * replicas;
    const ports = await freePorts(2 * nodes);
    for (let index = 0; index < nodes; index += 1) {
      const links = await Promise.all(hasLinks ? servers.addresses.map(Link.open) : []);
      cluster.links.push(links);
      const addresses = hasLinks ? links.map(({ address }) => address) : servers.addresses;
      const path = join(makeTemporaryFolder(), 'data');
      cluster.#paths.push(path);
      if (disks !== undefined) await mount(cluster.nodeDisks, path, disks.node);
      cluster.#environments.push({
        CLUSTER_URL: urlOf(addresses, login),
        CLUSTER_REPLICAS: String(replicas),
        CLUSTER_SHARDS: String(shards),
        ...(shards > 1 ? { CLUSTER_SHARD: String(Math.floor(index / replicas)) } : {}),
        CLUSTER_LOG_BYTES: String(1024 ** 3),
        HTTP_PORT: String(ports[index]),
        GRPC_PORT: String(ports[nodes + index]),
        PATH: process.env['PATH'] ?? '',
        ...env,
      });
    }
    await Promise.all(cluster.#paths.map(async (_, index) => await cluster.run(index)));
    return cluster;
  }

  node(index: number): TestServer {
    const node = this.nodes[index];
    if (node === undefined) throw new Error(`there is no node ${index}`);
    return node;
  }

  /** The settings of a node. */
  settings(index: number): Record<string, string> {
    return { ...this.#environments[index] };
  }

  /** Starts a node that does not run, on the folder and the ports that it had. */
  async run(index: number, env: Readonly<Record<string, string>> = {}): Promise<TestServer> {
    const node = await startServer({
      env: { ...this.#environments[index], ...env },
      dataPath: this.#paths[index] ?? '',
      launch: { wrapper: this.nodeDisks[index]?.wrapper ?? [] },
    });
    this.nodes[index] = node;
    return node;
  }

  /** What `vectord cluster status` says of it, and the exit code. */
  async status(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
    const status = new Vectord({ CLUSTER_URL: urlOf(this.servers.addresses), ...env }, [
      'cluster',
      'status',
      ...args,
    ]);
    const { code } = await status.exit;
    return { code, stdout: status.stdout, stderr: status.stderr };
  }

  /** Ends the nodes that run, which have to end as they should, and all servers. */
  async end(): Promise<void> {
    const codes = await Promise.all(this.nodes.map(async (node) => await node.stop()));
    for (const link of this.links.flat()) link.close();
    await this.servers.end();
    for (const disk of [...this.nodeDisks, ...this.serverDisks]) disk.release();
    if (codes.some((code) => code !== 0))
      throw new Error(`nodes have ended with ${codes.join(', ')}`);
  }
}

/** Mounts one more disk at a folder that is not there yet, and answers what lets a process see it. */
async function mount(disks: SmallDisk[], folder: string, bytes = 0): Promise<readonly string[]> {
  mkdirSync(folder);
  const disk = await SmallDisk.mount(folder, bytes);
  disks.push(disk);
  return disk.wrapper;
}

export function urlOf(addresses: readonly string[], login = ''): string {
  return addresses.map((address) => `nats://${login}${address}`).join(',');
}

/** Clients of both interfaces of each node. */
export function clientsOf(nodes: readonly TestServer[]): VectorClient[] {
  const clients = nodes.flatMap((node) => openClients(node));
  onTestFinished(() => clients.forEach((client) => client.close()));
  return clients;
}

/** What a node says of itself; how it cannot be asked where it does not run. */
export async function readinessOf({ http }: TestServer): Promise<string> {
  return await fetch(`${http}/ready`).then(async (response) => await response.text(), String);
}

/** What a node has noted. */
export function contentOf(dataPath: string): { node: string; incarnations: number[] } {
  return JSON.parse(readFileSync(join(dataPath, 'node.json'), 'utf8'));
}
