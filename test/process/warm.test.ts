import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { killAll, makeFolder, Vectord, writeKeys } from './vectord.js';

let folder = '';

beforeEach(() => {
  folder = makeFolder();
});

afterEach(async () => {
  await killAll();
  rmSync(folder, { recursive: true });
});

test('WARM_METRICS has graphs built without a search: from the first point on, and at a start', async () => {
  const keysPath = join(folder, 'keys.json');
  writeKeys(keysPath, { role: 'readwrite', key: 'the-key' });
  const environment = {
    DATA_PATH: join(folder, 'data'),
    SERVICE_KEYS_FILE: keysPath,
    DIMENSION: '4',
    WARM_METRICS: 'cosine,manhattan',
  };
  for (const isFirst of [true, false]) {
    const vectord = await Vectord.start(environment);
    if (isFirst) await vectord.insert('the-key');
    const isBuilt = (graph: string): boolean =>
      vectord.stderr.includes(`"graph":"${graph}","points":1,"msg":"the graph is built"`);
    await vectord.until(() => isBuilt('Cosine') && isBuilt('Manhattan'));
    // Nobody asked for the others.
    expect(vectord.stderr).not.toMatch(/"graph":"(Euclidean|Hamming)"/);
    expect(await vectord.stop()).toEqual({ code: 0, signal: null });
  }
});
