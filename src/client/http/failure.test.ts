import { expect, test } from 'vitest';
import { connectionLost } from './failure.js';

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
