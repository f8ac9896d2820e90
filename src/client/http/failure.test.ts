import { afterEach, expect, test, vi } from 'vitest';
import { connectionLost } from './failure.js';

afterEach(() => vi.unstubAllGlobals());

/** As the system tells of a call that failed. */
function failed(syscall: string, code: string): Error {
  return Object.assign(new Error(`${syscall} ${code}`), { syscall, code });
}

test.each<[boolean, unknown]>([
  [true, failed('connect', 'ECONNREFUSED')],
  [true, failed('connect', 'ETIMEDOUT')],
  [true, failed('getaddrinfo', 'EAI_AGAIN')],
  [true, Object.assign(new Error('Connect Timeout Error'), { code: 'UND_ERR_CONNECT_TIMEOUT' })],
  [
    true,
    new AggregateError([failed('connect', 'ECONNREFUSED'), failed('connect', 'EHOSTUNREACH')]),
  ],
  [false, new AggregateError([failed('connect', 'ECONNREFUSED'), failed('read', 'ECONNRESET')])],
  [false, failed('read', 'ETIMEDOUT')],
  [false, failed('read', 'ECONNRESET')],
  [false, Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' })],
  [false, undefined],
])('that nothing was sent is %s of a call that failed by %s', (expected, cause) => {
  expect(connectionLost(new TypeError('fetch failed', { cause })).isUnsent).toBe(expected);
});

test('a page is told of CORS_ORIGINS, with its origin', () => {
  vi.stubGlobal('location', { origin: 'https://page.example' });
  const { message } = connectionLost(new TypeError('Failed to fetch'));
  expect(message).toBe(
    'no answer came from the service: Failed to fetch; if the service is there, its CORS_ORIGINS ' +
      'has to name https://page.example',
  );
});

test('a program is not', () => {
  const { message } = connectionLost(new TypeError('fetch failed'));
  expect(message).toBe('no answer came from the service: fetch failed');
});
