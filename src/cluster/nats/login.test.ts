import { expect, test } from 'vitest';
import { loginOf, serversOf } from './login.js';

test('the servers are named without the user', () => {
  const urls = ['nats://node:secret@10.0.0.1:4222', 'tls://[::1]:4222', 'nats://a.host'];
  expect(serversOf(urls)).toEqual(['nats://10.0.0.1:4222', 'tls://[::1]:4222', 'nats://a.host']);
});

test.each([
  [['nats://one'], {}],
  [['nats://n%40de:p%3Aw@one'], { user: 'n@de', pass: 'p:w' }],
  [['nats://one', 'nats://node:secret@two'], { user: 'node', pass: 'secret' }],
  [['nats://a:b@one', 'nats://a:b@two'], { user: 'a', pass: 'b' }],
  [['nats://a-token@one'], { token: 'a-token' }],
])('%j names %j', (clusterUrls, login) => {
  expect(loginOf({ clusterUrls, clusterCredentials: undefined })).toEqual(login);
});

test.each([
  [['nats://a:b@one', 'nats://a:c@two'], undefined, 'CLUSTER_URL names several NATS users'],
  [['nats://a@one', 'nats://b@two'], undefined, 'CLUSTER_URL names several NATS users'],
  [['nats://a:b@one'], '/a/file', 'CLUSTER_CREDENTIALS is set: leave one of them out'],
  [['nats://one'], '/no/file', 'the file /no/file (CLUSTER_CREDENTIALS) cannot be read'],
])('%j with the file %s is refused', (clusterUrls, clusterCredentials, reason) => {
  expect(() => loginOf({ clusterUrls, clusterCredentials })).toThrow(reason);
});
