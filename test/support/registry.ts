import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/** A package as npm reads it from its tarball. */
interface Manifest {
  readonly name: string;
  readonly version: string;
}

interface Tarball {
  readonly manifest: Manifest;
  readonly bytes: Buffer;
}

/**
 * A registry of npm on this machine that has the packages in a folder, as if they were published, and
 * sends for all others to the one that npm uses otherwise.
 */
export class Registry {
  readonly #server: Server;
  readonly #tarballs: ReadonlyMap<string, Tarball>;
  readonly #others: string;

  private constructor(folder: string) {
    const read = readdirSync(folder).map((name) => readTarball(join(folder, name)));
    this.#tarballs = new Map(read.map((tarball) => [tarball.manifest.name, tarball]));
    this.#others = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();
    this.#server = createServer((request, response) => {
      const path = decodeURIComponent(request.url ?? '/').slice(1);
      const [name = '', file] = path.split('/-/');
      const tarball = this.#tarballs.get(name);
      if (tarball !== undefined && file !== undefined) {
        response.end(tarball.bytes);
      } else if (tarball !== undefined) {
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(this.#document(tarball)));
      } else if (name.startsWith('vectord')) {
        // A package of another platform, which is not there.
        response.writeHead(404).end();
      } else {
        response.writeHead(302, { location: new URL(request.url ?? '', this.#others).href }).end();
      }
    });
  }

  static async start(folder: string): Promise<Registry> {
    const registry = new Registry(folder);
    registry.#server.listen(0, '127.0.0.1');
    await once(registry.#server, 'listening');
    return registry;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** What a registry says of a package that has one version. */
  #document({ manifest, bytes }: Tarball): object {
    const { name, version } = manifest;
    const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
    const dist = { tarball: `${this.url}${name}/-/${name}-${version}.tgz`, integrity };
    const versions = { [version]: { ...manifest, dist } };
    return { name, 'dist-tags': { latest: version }, versions };
  }
}

function readTarball(path: string): Tarball {
  const manifest = execFileSync('tar', ['-xzOf', path, 'package/package.json'], {
    encoding: 'utf8',
  });
  return { manifest: JSON.parse(manifest) as Manifest, bytes: readFileSync(path) };
}
