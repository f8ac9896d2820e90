import { expect, test } from 'vitest';
import { banner, formatAddress } from './banner.js';
import { VERSION } from '../config/version.js';

test('the start block has one label and one value a line, in a fixed order', () => {
  const summary = {
    http: { host: '127.0.0.1', port: 3000 },
    grpc: { host: '::1', port: 50_051 },
    hasTls: false,
    hasConsole: true,
    dimension: 384,
    dimensionOrigin: 'default: DIMENSION is not set',
    points: 12,
    dataPath: '/srv/data',
    keysPath: '/srv/data/keys.json',
    keysOrigin: 'created',
  };
  expect(banner(summary)).toBe(`vectord ${VERSION}
  HTTP        http://127.0.0.1:3000
  gRPC        [::1]:50051
  console     http://127.0.0.1:3000/console
  dimension   384 (default: DIMENSION is not set)
  points      12
  data        /srv/data
  keys        /srv/data/keys.json (created)
ready
`);
  const secured = banner({ ...summary, hasTls: true });
  expect(secured).toContain(
    '  HTTP        https://127.0.0.1:3000\n  gRPC        [::1]:50051 (TLS)\n',
  );
  expect(secured).toContain('  console     https://127.0.0.1:3000/console\n');
  expect(banner({ ...summary, hasConsole: false })).not.toContain('console');
});

test('only the colons of an IPv6 address are bracketed', () => {
  expect(formatAddress({ host: '::', port: 1 })).toBe('[::]:1');
  expect(formatAddress({ host: 'localhost', port: 1 })).toBe('localhost:1');
});
