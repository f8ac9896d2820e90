import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { linkClone } from '../docs/as-built.js';
import { ownFolder, Vectord } from '../support/vectord.js';
import { ROOT, run } from './run.js';

test('what the page about imports has its readers paste does what it says', async () => {
  const page = readFileSync(join(ROOT, 'docs/IMPORT.md'), 'utf8');
  const blocks = Array.from(page.matchAll(/^```sh\n(.*?)^```$/gms), ([, block = '']) => block);
  const { folder, environment } = ownFolder();
  const vectord = await Vectord.start(environment);
  linkClone(folder);
  const url = `--url grpc://${vectord.value('gRPC')}`;
  // Without the lines that npm writes about what it starts.
  const command = blocks.join('\n').replaceAll(/\bnpm start -- \w+/g, `$& ${url}`);
  const script = `set -eu\nexport npm_config_loglevel=silent\n${command}`;
  const options = { cwd: folder, env: { VECTORD_KEY: 'the-key' } };
  const { code, stdout, stderr } = await run('sh', ['-c', script], options);
  expect(code, stdout + stderr).toBe(0);
  const table = stdout.indexOf('vectord 0');
  expect(stdout.slice(0, table).split('\n')).toEqual([
    '2 points stored, 0 replaced, 0 rows rejected',
    '2 points stored, 0 replaced, 0 rows rejected',
    '1 point stored, 0 replaced, 1 row rejected',
    'row 2 was rejected: the vector has 2 values, expected 4',
    'rejected rows, with reasons: mixed.jsonl.rejected.jsonl',
    '{"row":2,"reason":"the vector has 2 values, expected 4"}',
    '5 points written to all.jsonl.gz',
    '1 point written to four-legs.csv',
    '5 points written to vectors.npy and vectors.npy.texts.jsonl',
    '5 points written to move.npy and move.npy.texts.jsonl',
    '0 points stored, 5 replaced, 0 rows rejected',
    '',
  ]);
  expect(stdout.slice(table)).toMatch(/^ +100 +1\.0000 /m);
});
