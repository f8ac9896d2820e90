import { expect, test, vi } from 'vitest';
import { connect, type Graph } from '../../src/client/node.js';
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

test('GRAPH_IDLE_SECONDS gives back what no search asks for, in snapshots too, but nothing warm', async () => {
  const { environment } = ownFolder();
  const vectord = await Vectord.start({
    ...environment,
    WARM_METRICS: 'cosine',
    GRAPH_IDLE_SECONDS: '1',
  });
  const client = connect(vectord.value('HTTP'), { key: 'the-key' });
  const graphs = async (): Promise<(readonly [Graph['similarity'], Graph['state']])[]> =>
    (await client.info()).graphs.map(({ similarity, state }) => [similarity, state]);
  const points = Array.from({ length: 2_000 }, (_, at) => ({ vector: [at, 1, 2, 3], content: '' }));
  const ids = await client.upsert(points).then((upserted) => upserted.ids);
  const find = async (): Promise<void> => {
    const query = { vector: [7, 1, 2, 3], similarity: 'Euclidean', limit: 1, ef: 10 } as const;
    expect(await client.search(query)).toMatchObject([{ id: ids[7], distance: 0 }]);
  };
  const isBuilt = async (): Promise<void> => {
    await find();
    const both = ['Euclidean', 'Cosine'].map((similarity) => [similarity, 'ready']);
    expect(await graphs()).toEqual(both);
  };
  await vi.waitFor(isBuilt, 20_000);
  for (const { bytes, linked } of (await client.info()).graphs) {
    expect(bytes).toBeGreaterThan(linked * 128);
    expect(bytes).toBeLessThan(2_000 * 160);
  }
  await vectord.until(() => vectord.stderr.includes('"graph":"Euclidean","msg":"a graph without'));
  expect(await graphs()).toEqual([['Cosine', 'ready']]);
  await vi.waitFor(isBuilt, 20_000);
  await vectord.until(() => vectord.stderr.split('"msg":"a graph without').length > 2);
  client.close();
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });

  const again = await Vectord.start(environment);
  const reopened = connect(again.value('HTTP'), { key: 'the-key' });
  expect((await reopened.info()).graphs).toMatchObject([{ similarity: 'Cosine', state: 'ready' }]);
});
