import { inRounds, rest, search, writeTo } from './load.mjs';
import { Table } from './table.mjs';

/** Three replicas, beside one server, and beside three that get the same points. */
export async function costOfReplicas(services) {
  const table = new Table({ 'over one': 'one server', 'over three': 'three servers' });
  const one = await services.servers('one server', 1);
  const three = await services.servers('three servers', 3);
  const strong = await services.cluster('cluster', 3);
  await inRounds(table, async (counted) => {
    for (const service of [one, three, strong]) await rest(service, counted);
    for (const service of [one, three, strong]) await writeTo(service, counted);
    for (const service of [one, three, strong]) await search(service, 'search, strong', counted);
  });
  await services.stop(strong);
  const session = await services.cluster('cluster', 3, { CLUSTER_READS: 'session' });
  await inRounds(table, async (counted) => {
    for (const service of [one, three, session]) await rest(service);
    for (const service of [one, three, session]) await search(service, 'search, session', counted);
  });
  return table.rows();
}

/** Two shards of one node each, each with half of the points, beside one shard with all of them. */
export async function costOfShards(services) {
  const table = new Table({ 'over one whole': 'one whole' });
  const one = await services.cluster('one whole', 1, { CLUSTER_REPLICAS: '1' });
  const settings = { CLUSTER_REPLICAS: '1', CLUSTER_SHARDS: '2' };
  const two = await services.cluster('two halves', 2, settings);
  await inRounds(table, async (counted) => {
    for (const service of [one, two]) await rest(service, counted);
    for (const service of [one, two]) await writeTo(service, counted);
    for (const service of [one, two]) {
      await search(service, 'search at one node', counted, service.connections.slice(0, 1));
    }
  });
  return table.rows();
}
