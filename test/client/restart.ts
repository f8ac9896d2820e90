import { once } from 'node:events';
import { createServer } from 'node:net';
import { startServer, type ServerOptions, type TestServer } from '../support/server.js';

/** A service that can be killed, and started again on the same folder and the same ports. */
export class Restartable {
  private constructor(
    private readonly options: ServerOptions,
    /** The process that runs, or has run last. */
    public server: TestServer,
  ) {}

  static async start(options: ServerOptions = {}): Promise<Restartable> {
    const [http, grpc] = [await freePort(), await freePort()];
    const env = { ...options.env, HTTP_PORT: String(http), GRPC_PORT: String(grpc) };
    const server = await startServer({ ...options, env });
    return new Restartable({ ...options, env, dataPath: server.dataPath }, server);
  }

  async kill(): Promise<void> {
    await this.server.kill();
  }

  async startAgain(): Promise<void> {
    this.server = await startServer(this.options);
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.startAgain();
  }
}

/** A port that no system hands out to those who ask for any, so that nobody takes it meanwhile. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    probe.close();
    await once(probe, 'close');
    return port;
  }
}
