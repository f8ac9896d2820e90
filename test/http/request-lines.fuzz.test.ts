import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Collector } from '../support/collector.js';
import { countPoints } from '../support/count-points.js';
import { FUZZ_TIMEOUT_MS, fuzzing } from '../support/fuzz.js';
import { startServer } from '../support/server.js';
import { sendRaw } from './client.js';

/*
 * Request lines and headers that nobody would write, with each optional feature on in turn: a feature
 * that is off in other tests reads parts of a request that nothing else reads. Each request has the
 * status that it has without the feature, and what is answered 200 was done.
 */

const FEATURES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'no optional feature': {},
  'each request in the log': { LOG_LEVEL: 'trace', SLOW_REQUEST_MS: '0' },
  'the log for people': { LOG_FORMAT: 'pretty', LOG_LEVEL: 'debug' },
  'slow requests in the log': { SLOW_REQUEST_MS: '1' },
  'origins of browsers': { CORS_ORIGINS: 'https://example.org' },
  'every origin': { CORS_ORIGINS: '*' },
  proxies: { TRUSTED_PROXIES: '127.0.0.0/8' },
  'open metrics': { METRICS_OPEN: 'true' },
  'no console': { HTTP_CONSOLE: 'false' },
  'two loops': { LOOPS: '2' },
};

const PATHS = [
  '/v1/points/count',
  '/v1/points/upsert',
  '/points',
  '/health',
  '/metrics',
  '/console',
  '/',
];

const authority = fc.constantFrom(
  '',
  'http://a',
  'http://a:99999',
  'http://[',
  'http://[::1',
  'HTTP://%%',
  'ws://@:',
  'http://',
  'http://a b',
  '//a:99999',
  'a:',
  'http:/',
  'http://a:-1',
  'http://xn--',
  'http://\u00ff',
);
const suffix = fc.constantFrom(
  '',
  '?',
  '?a=%',
  '#',
  '?#',
  '/..',
  '//',
  ';',
  '%00',
  '%',
  '?\u00e9',
  '\\',
);
const method = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('POST', 'GET') },
  fc.constantFrom('HEAD', 'OPTIONS', 'PUT', 'DELETE', 'CONNECT', 'TRACE', 'PROPFIND', 'post', 'X'),
);
const version = fc.oneof(
  { weight: 12, arbitrary: fc.constant('HTTP/1.1') },
  fc.constantFrom('HTTP/1.0', 'HTTP/2.0', 'HTTP/9.9', 'http/1.1', ''),
);
const odd = fc.constantFrom(
  '',
  ' ',
  'null',
  '*',
  'http://[',
  'https://example.org',
  'https://example.org,',
  '::1',
  '127.0.0.1',
  '999.1.1.1',
  '127.0.0.1:99999',
  '[::1]:1, 10.0.0.1',
  '%',
  'a=%',
  'a=%zz',
  'a=b;c,d',
  '\u00ff',
  '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  '00-0-0-01',
  'a=b,a=b',
  'x'.repeat(600),
);
/** Headers that a feature reads. */
const header = fc.tuple(
  fc.constantFrom(
    'traceparent',
    'tracestate',
    'baggage',
    'origin',
    'access-control-request-method',
    'access-control-request-headers',
    'x-forwarded-for',
    'x-forwarded-proto',
    'forwarded',
    'host',
    'user-agent',
    'x-request-id',
    'accept',
    'accept-encoding',
    'if-none-match',
    'referer',
  ),
  odd,
);

const request = fc.record({
  method,
  authority,
  path: fc.constantFrom(...PATHS),
  suffix,
  version,
  headers: fc.array(header, { maxLength: 3 }),
});

type Asked = Parameters<Parameters<typeof request.map>[0]>[0];

function isPreflight({ method: verb, headers }: Asked): boolean {
  const names = new Set<string>(headers.map(([name]) => name));
  return verb === 'OPTIONS' && names.has('origin') && names.has('access-control-request-method');
}

/** What a feature is there to answer otherwise. */
const ITS_OWN: Readonly<Record<string, (asked: Asked) => boolean>> = {
  'origins of browsers': isPreflight,
  'every origin': isPreflight,
  'no console': ({ path }) => path === '/console',
};

function statusLine(answer: string): string {
  return answer.split('\r\n', 1)[0] ?? '';
}

const ANSWERED = /^HTTP\/1\.1 [2-4]\d\d /;

const POINT = '{"points":[{"vector":[1,0,0,0]}]}';

describe.each([...Object.keys(FEATURES), 'traces'])('with %s', (name) => {
  test(
    'a request line that nobody would write harms nothing',
    async () => {
      const env = name === 'traces' ? await tracesOn() : (FEATURES[name] ?? {});
      const [server, plain] = await Promise.all([startServer({ env }), startServer()]);
      const isItsOwn = ITS_OWN[name] ?? (() => false);
      const head = ['host: a', 'connection: close', `api-key: ${server.keys.readwrite}`];
      let stored = 0;
      await fc.assert(
        fc.asyncProperty(request, async (asked) => {
          const target = asked.authority + asked.path + asked.suffix;
          const body = asked.path === '/v1/points/count' ? '{}' : POINT;
          const lines = [
            `${asked.method} ${target} ${asked.version}`,
            ...head,
            ...asked.headers.map(([field, value]) => `${field}: ${value}`),
            'content-type: application/json',
            `content-length: ${body.length}`,
          ];
          const sent = `${lines.join('\r\n')}\r\n\r\n${body}`;
          const answers = [server, plain].map(async (one) => await sendRaw(one, sent));
          const [answer = '', usual = ''] = await Promise.all(answers);
          // The parser closes a connection that asks for a tunnel.
          expect(answer).toMatch(asked.method === 'CONNECT' ? /^HTTP\/1\.1 4|^$/ : ANSWERED);
          expect(isItsOwn(asked) || statusLine(answer)).toBe(isItsOwn(asked) || statusLine(usual));
          if (/^HTTP\/1\.1 200 .*"stored":1/s.test(answer)) stored += 1;
        }),
        fuzzing(150),
      );
      expect([await countPoints(server), await countPoints(plain)]).toEqual([stored, stored]);
      expect(server.log()).not.toMatch(/"level":"(error|fatal)"|ERROR|FATAL/);
      expect(await server.stop()).toBe(0);
    },
    FUZZ_TIMEOUT_MS,
  );
});

async function tracesOn(): Promise<Record<string, string>> {
  const collector = await Collector.start();
  onTestFinished(() => expect(collector.bodies).not.toBe(''));
  return { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_BSP_SCHEDULE_DELAY: '50' };
}
