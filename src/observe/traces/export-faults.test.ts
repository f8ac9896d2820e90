import { expect, test } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.js';
import { createLogger } from '../logger.js';
import { ExportFaults } from './export-faults.js';

test('faults are told once a minute, with their number since the last line', async () => {
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line: string) => void lines.push(line) });
  const clock = new ManualClock();
  const faults = new ExportFaults(logger, clock);
  faults.note('refused');
  faults.note('refused');
  await clock.advance(59_999);
  faults.note('refused');
  expect(lines).toHaveLength(1);
  await clock.advance(1);
  faults.note('gone');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'warn', reason: 'refused', faults: 1 },
    { level: 'warn', reason: 'gone', faults: 3 },
  ]);
});
