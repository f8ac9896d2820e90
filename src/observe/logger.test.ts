import { expect, test } from 'vitest';
import { createLogger } from './logger.js';

test('secrets and vectors that come along with a logged object are left out', () => {
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line: string) => void lines.push(line) });
  logger.info({ key: 'S3CRET', vector: [77.5] }, 'top');
  logger.info({ entry: { key: 'S3CRET', sha256: 'S3CRET', apiKey: 'S3CRET' } }, 'nested');
  logger.info({ req: { headers: { 'api-key': 'S3CRET', authorization: 'S3CRET' } } }, 'headers');
  logger.info({ headers: { 'api-key': 'S3CRET' }, point: { vector: [77.5] } }, 'nested');
  expect(lines).toHaveLength(4);
  for (const line of lines) {
    expect(line).toContain('[redacted]');
    expect(line).not.toMatch(/S3CRET|77\.5/);
  }
});

test('lines below the level are not written', () => {
  const lines: string[] = [];
  const logger = createLogger('warn', { write: (line: string) => void lines.push(line) });
  logger.info('quiet');
  logger.warn('loud');
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['loud']);
});
