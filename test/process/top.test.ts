import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { connect, type Client } from '../../src/client/node.js';
import { expectRefusal } from '../support/refusal.js';
import { findProgram } from '../support/tools.mjs';
import { ownFolder, Vectord } from '../support/vectord.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const TERMINAL = fileURLToPath(new URL('terminal.py', import.meta.url));
const KEY = { VECTORD_KEY: 'the-key' };

let folder = '';
let environment: Record<string, string> = {};
let server: Vectord;
let url = '';

beforeEach(async () => {
  ({ folder, environment } = ownFolder());
  server = await Vectord.start(environment);
  url = server.value('HTTP');
});

test('--once prints what the service did in one interval', async () => {
  const stop = keepBusy();
  const { stdout, stderr } = await finish(top(['--interval', '2', '--once']));
  await stop();
  expect(stderr).toBe('');
  const lines = stdout.split('\n');
  expect(lines[0]).toMatch(new RegExp(`^vectord \\d\\S+ at ${url}, up \\d.*, ready$`));
  expect(stdout).toMatch(/^ {2}requests +[1-9]\d*(?:\.\d)?\/s, errors [1-9]/m);
  expect(stdout).toMatch(/^ {2}connections +HTTP [1-9]\d*, gRPC 1, of at most 1,024 each$/m);
  expect(stdout).toMatch(/^ {2}points +[1-9][\d,]*, deleted 0, dimension 4$/m);
  expect(stdout).toMatch(/^ {2}commits +[1-9].*\/s, records [1-9].*\/s, p50 \d.*s, p99 \d.*s$/m);
  expect(stdout).toMatch(/^ {2}filter index +\d.* of 1\.0 GiB: n (?:building|ready)$/m);
  expect(stdout).toMatch(/^ {2}memory +\d.*iB, requests .* of 512\.0 MiB$/m);
  expect(stdout).toMatch(/^ {2}disk +\d.*iB, available \d.*iB$/m);
  const rates = String.raw`+[1-9][\d.]* +(\d\S*) +[\d.]+ m?s +[\d.]+ m?s`;
  const searches = new RegExp(`^HTTP POST /v1/points/search ${rates}$`, 'm').exec(stdout);
  const upserts = new RegExp(`^gRPC vectord.v1.PointsService/Upsert ${rates}$`, 'm').exec(stdout);
  expect([searches?.[1] === '0', upserts?.[1]]).toEqual([false, '0']);
  expect(stdout).not.toContain('/metrics');
});

test('a field whose name would change the terminal does not', async () => {
  const client = connect(url, { key: 'the-key' });
  await client.count({ filter: { 'a\x1b[2J\u202eb': 1 } });
  const { stdout } = await finish(top(['--interval', '0.1', '--once']));
  expect(stdout).toContain(String.raw`: a\u001b[2J\u202eb `);
});

test('graphs are shown as far as they are', async () => {
  const warm = await Vectord.start({ ...ownFolder().environment, WARM_METRICS: 'cosine' });
  const args = ['--url', warm.value('HTTP'), '--interval', '0.1', '--once'];
  const { stdout } = await finish(new Vectord(KEY, ['top', ...args]));
  expect(stdout).toMatch(
    /^GRAPH +STATE +LINKED \/ +POINTS \+ DELETED +MEMORY +IDLE FOR\nCosine +(?:ready|building) +0 \/ +0 +0 bytes +\d+ s$/m,
  );
});

test('not on a terminal, block follows block; a service that goes away is told of, and found again', async () => {
  const running = top(['--interval', '0.2']);
  await running.until(() => running.stdout.split(/^vectord /m).length > 3);
  await server.stop();
  await running.until(() => running.stderr.includes(`no answer from ${url}`));
  expect(running.stderr).toContain('trying again');
  const blocks = running.stdout.length;
  await Vectord.start({ ...environment, HTTP_PORT: new URL(url).port });
  await running.until(() => running.stdout.length > blocks);
  expect(running.stdout).not.toContain('\x1b');
  expect(await running.stop('SIGINT')).toEqual({ code: 0, signal: null });
});

test('it ends once nobody reads it', async () => {
  const running = top(['--interval', '0.1']);
  await running.until(() => running.stdout !== '');
  running.process.stdout.destroy();
  expect(await running.exit).toEqual({ code: 0, signal: null });
});

test.skipIf(findProgram('python3') === undefined)(
  'on a terminal it redraws, fits, and leaves the terminal as it was (needs python3)',
  async () => {
    const args = [TERMINAL, process.execPath, MAIN, 'top', '--url', url, '--interval', '0.2'];
    const child = spawn('python3', args, { env: { ...process.env, ...KEY } });
    onTestFinished(() => void child.kill('SIGKILL'));
    let output = '';
    let isAsked = false;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (isAsked || output.split('vectord 0').length < 4) return;
      isAsked = true;
      child.stdin.write('\x03');
    });
    const [code] = await once(child, 'close');
    expect(code).toBe(0);
    expect(output.startsWith('\x1b[?1049h\x1b[?25l')).toBe(true);
    expect(output.endsWith('\x1b[?25h\x1b[?1049l')).toBe(true);
    const frames = output.split('\x1b[H').slice(1);
    expect(frames.length).toBeGreaterThan(3);
    for (const frame of frames) {
      const lines = stripVTControlCharacters(frame).split('\r\n');
      expect(lines.length).toBeLessThanOrEqual(16);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(60);
    }
  },
);

describe('it is refused', () => {
  test('without a key, saying how to give one, unless METRICS_OPEN is on', async () => {
    const args = ['top', '--interval', '0.1', '--once', '--url'];
    await expectRefusal(new Vectord({}, [...args, url]), 1, 'set VECTORD_KEY', '--key-file');
    const open = await Vectord.start({ ...ownFolder().environment, METRICS_OPEN: 'on' });
    const { stdout } = await finish(new Vectord({}, [...args, open.value('HTTP')]));
    expect(stdout).toMatch(/^ {2}points +0, deleted 0$/m);
  });

  test('with a key that is not known, without showing it', async () => {
    const file = join(folder, 'key');
    writeFileSync(file, 'guessed-key\n');
    const text = await expectRefusal(top(['--key-file', file]), 1, `know the key of ${file}`);
    expect(text).not.toContain('guessed-key');
  });

  test('where nothing answers, or something else', async () => {
    const other = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const where = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const args = ['top', '--url', where];
    await expectRefusal(new Vectord(KEY, args), 1, `${where}/metrics answers 200`, '"hello"');
    other.close();
    await expectRefusal(new Vectord(KEY, args), 1, `no answer from ${where}`, 'is it running at');
  });

  test('where something else answers, whose words do not act on the terminal', async () => {
    const problem = { code: 'PERMISSION_DENIED', detail: 'a\x1b[2Jb', status: 403 };
    const other = createServer((request, response) => {
      if (request.url === '/metrics') response.end('vectord_build_info 1\n');
      else {
        response.writeHead(403, { 'content-type': 'application/problem+json' });
        response.end(JSON.stringify(problem));
      }
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const where = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const vectord = new Vectord(KEY, ['top', '--url', where]);
    const text = await expectRefusal(vectord, 1, String.raw`a\u001b[2Jb`);
    expect(text).not.toContain('\x1b');
  });

  test.each([
    [['--interval', '0'], 'Expected seconds from 0.1 to 3600'],
    [['--interval', '1e3'], 'Expected seconds from 0.1 to 3600'],
    [['--url', 'localhost:3000'], 'Expected the address of an HTTP interface'],
    [['--url', 'grpc://127.0.0.1:50051'], 'such as http://127.0.0.1:3000, and no key in it.\n'],
    [['--url', 'http://key@127.0.0.1'], 'Expected the address of an HTTP interface'],
  ])('with 2 for %j', async (args, part) => {
    await expectRefusal(new Vectord(KEY, ['top', ...args]), 2, part);
  });
});

function top(args: readonly string[]): Vectord {
  return new Vectord(KEY, ['top', '--url', url, ...args]);
}

async function finish(vectord: Vectord): Promise<Vectord> {
  expect(await vectord.exit, vectord.stderr).toEqual({ code: 0, signal: null });
  return vectord;
}

/** Writes over gRPC and searches over HTTP, of which some fail, until it is told to stop. */
function keepBusy(): () => Promise<void> {
  const end = new AbortController();
  const grpc = connect(`grpc://${server.value('gRPC')}`, { key: 'the-key' });
  const http = connect(url, { key: 'the-key' });
  const work = async (): Promise<void> => {
    for (let count = 1; !end.signal.aborted; count += 1) {
      await grpc.upsert([{ vector: [count, 1, 2, 3], metadata: { n: count } }]);
      await search(http, [1, 2, 3, count]);
      await search(http, [1]).catch(() => undefined);
    }
  };
  const done = work();
  return async () => {
    end.abort();
    await done;
    for (const client of [grpc, http]) client.close();
  };
}

async function search(client: Client, vector: number[]): Promise<void> {
  await client.search({ vector, similarity: 'Cosine', limit: 3, filter: { n: { $gte: 1 } } });
}
