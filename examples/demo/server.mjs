import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/**
 * A running vectord on free ports.
 * @typedef {object} Server
 * @property {string} http base address of the HTTP interface
 * @property {string} grpc address of the gRPC interface
 * @property {string} key a key that may read and write
 * @property {number} pid
 * @property {() => Promise<void>} stop
 */

/**
 * Starts the built service as its users do, and waits until it is ready.
 * @param {object} options
 * @param {number} options.dimension
 * @param {Record<string, string>} [options.env] further settings
 * @param {string} [options.folder] where the points are; without one, in a folder that is gone when
 *   the service has stopped
 * @param {string} [options.main] the service of another build
 * @returns {Promise<Server>}
 */
export async function startServer({ dimension, env = {}, folder: kept, main = MAIN }) {
  if (!existsSync(main)) throw new Error(`${main} is not there: run "npm run build" first`);
  const folder = kept ?? mkdtempSync(join(tmpdir(), 'vectord-demo-'));
  const child = spawn(process.execPath, [main], {
    env: {
      HTTP_PORT: '0',
      GRPC_PORT: '0',
      DIMENSION: String(dimension),
      DATA_PATH: folder,
      LOG_LEVEL: 'warn',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGTERM');
    await exited;
    if (kept === undefined) rmSync(folder, { recursive: true });
  };
  try {
    const banner = await Promise.race([readBanner(child.stdout), exited.then(notReady)]);
    const { keys } = JSON.parse(readFileSync(join(folder, 'keys.json'), 'utf8'));
    return {
      http: lineValue(banner, 'HTTP'),
      grpc: lineValue(banner, 'gRPC'),
      key: keys.find(({ role }) => role === 'readwrite').key,
      pid: child.pid,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * The start block, which ends with the line "ready".
 * @param {import('node:stream').Readable} output
 * @returns {Promise<string>}
 */
function readBanner(output) {
  return new Promise((resolve) => {
    let text = '';
    output.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
      if (/^ready$/m.test(text)) resolve(text);
    });
  });
}

/** @returns {never} */
function notReady() {
  throw new Error('the server has ended before it was ready');
}

/**
 * @param {string} banner
 * @param {string} label
 */
function lineValue(banner, label) {
  const value = new RegExp(`^ *${label} +(\\S+)$`, 'm').exec(banner)?.[1];
  if (value === undefined) throw new Error(`no line with ${label} in:\n${banner}`);
  return value;
}
