import { expect, test } from 'vitest';
import { ownFolder, Vectord } from '../support/vectord.js';

test('WARM_METRICS has graphs built without a search: from the first point on, and at a start', async () => {
  const environment = { ...ownFolder().environment, WARM_METRICS: 'cosine,manhattan' };
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
