import { expect, test } from 'vitest';
import { findProgram } from '../support/tools.mjs';
import { ownFolder, Vectord } from '../support/vectord.js';

/** Runs a program on a terminal of its own, whose output it copies, and passes a SIGTERM on. */
const TERMINAL = `
import os, pty, signal, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))
try:
    while chunk := os.read(terminal, 65536):
        os.write(1, chunk)
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

const python = findProgram('python3');

/** All that a service has written from its start to its end. */
async function outputOf(env: Record<string, string>, isOnTerminal = false): Promise<string> {
  const wrapper = isOnTerminal ? [python ?? '', '-c', TERMINAL] : [];
  const vectord = await Vectord.start({ ...ownFolder().environment, ...env }, { wrapper });
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });
  return vectord.stdout + vectord.stderr;
}

test('the log begins with a line that has the version and the ports', async () => {
  const vectord = await Vectord.start({ ...ownFolder().environment, LOG_FORMAT: 'json' });
  await vectord.until(() => vectord.stderr.includes('"msg":"started"'));
  const line = vectord.stderr.split('\n').find((text) => text.includes('"started"')) ?? '';
  const { version } = (await import('../../package.json', { with: { type: 'json' } })).default;
  expect(JSON.parse(line)).toMatchObject({
    level: 'info',
    version,
    httpHost: '127.0.0.1',
    httpPort: Number(new URL(vectord.value('HTTP')).port),
    grpcHost: '127.0.0.1',
    grpcPort: Number(vectord.value('gRPC').split(':').at(-1)),
    tls: false,
    dimension: 4,
    points: 0,
  });
});

test('lines are JSON where nobody reads them, on every loop', async () => {
  const output = await outputOf({ LOG_LEVEL: 'debug' });
  const [, log = ''] = output.split('ready\n');
  for (const line of log.trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg');
});

test('LOG_FORMAT=pretty writes them for people, without colours into a file', async () => {
  const output = await outputOf({ LOG_FORMAT: 'pretty' });
  expect(output).toMatch(/^\d\d:\d\d:\d\d\.\d{3} INFO {2}started version=.* httpPort=\d+ /m);
  expect(output).toMatch(/ INFO {2}stopped\n$/);
  expect(output).not.toContain('\u001b');
});

test.skipIf(python === undefined)('they are for people, in colour, on a terminal', async () => {
  expect(await outputOf({ TERM: 'xterm' }, true)).toContain('\u001b[32mINFO \u001b[0m started');
  const plain = await outputOf({ TERM: 'xterm', NO_COLOR: '1' }, true);
  expect(plain).toContain(' INFO  started');
  expect(plain).not.toContain('\u001b');
  expect(await outputOf({ LOG_FORMAT: 'json' }, true)).toContain('"msg":"started"');
});

test('another format is refused', async () => {
  const vectord = new Vectord({ ...ownFolder().environment, LOG_FORMAT: 'xml' });
  expect(await vectord.exit).toEqual({ code: 2, signal: null });
  expect(vectord.stderr).toContain('LOG_FORMAT is "xml", expected one of json, pretty');
});
