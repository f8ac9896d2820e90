import { expect, test } from 'vitest';
import { proxyTo } from './proxy.js';

const HTTP = 'http://proxy.test:3128';

test.each([
  ['of no variable', 'a.example:1', {}, undefined],
  ['of http_proxy', 'a.example:1', { http_proxy: 'http://u:p@proxy.test:3128' }, 'http_proxy'],
  ['of https_proxy', 'a.example:1', { https_proxy: HTTP, http_proxy: HTTP }, 'https_proxy'],
  ['of grpc_proxy', 'a.example:1', { grpc_proxy: HTTP, https_proxy: HTTP }, 'grpc_proxy'],
  ['by TLS', 'a.example:1', { http_proxy: 'https://proxy.test:3128' }, undefined],
  ['that is no address', 'a.example:1', { http_proxy: 'proxy' }, undefined],
  ['to localhost', 'localhost:1', { http_proxy: HTTP }, undefined],
  ['to loopback', '127.0.0.9:1', { http_proxy: HTTP }, undefined],
  ['to loopback of IPv6', '[::1]:1', { http_proxy: HTTP }, undefined],
  ['to the end of a name', 'a.example:1', { http_proxy: HTTP, no_proxy: 'b, .example' }, undefined],
  ['to any part of a name', 'a.example:1', { http_proxy: HTTP, NO_PROXY: '*.example' }, undefined],
  ['to anything', 'a.example:1', { http_proxy: HTTP, no_proxy: '*' }, undefined],
  ['to a range', '10.1.2.3:1', { http_proxy: HTTP, no_proxy: '10.0.0.0/8' }, undefined],
  ['beside a range', '11.1.2.3:1', { http_proxy: HTTP, no_proxy: ',10.0.0.0/8,' }, 'http_proxy'],
])('a proxy %s', (_, target, environment, variable) => {
  const expected = variable && { variable, address: 'proxy.test:3128' };
  expect(proxyTo(target, environment)).toEqual(expected);
});

test('a proxy without a port has that of HTTP', () => {
  expect(proxyTo('a.example:1', { http_proxy: 'http://proxy.test' })?.address).toBe(
    'proxy.test:80',
  );
});
