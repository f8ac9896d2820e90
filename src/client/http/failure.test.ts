import { afterEach, expect, test, vi } from 'vitest';
import { connectionLost } from './failure.js';

afterEach(() => vi.unstubAllGlobals());

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
