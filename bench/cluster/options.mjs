import process from 'node:process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    shards: { type: 'boolean', default: false },
    'catch-up': { type: 'boolean', default: false },
    points: { type: 'string' },
    dimension: { type: 'string', default: '128' },
    singles: { type: 'string', default: '2000' },
    searches: { type: 'string', default: '4000' },
    clients: { type: 'string', default: '64' },
    rounds: { type: 'string', default: '5' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (values.help) {
  console.log(`bench/cluster.sh [flags]
  --shards       what two shards cost beside one, rather than three replicas beside one server
  --catch-up     how fast a node catches up that was away
  --points N     points that a round stores in batches of 500, and links (5000), or that a node
                 lacks which was away (30000)
  --dimension N  values of a vector (128)
  --singles N    points that a round stores one by one (2000)
  --searches N   searches of a round at each node, 10 neighbours each (4000)
  --clients N    writes under way at one time, and searches at each node (64)
  --rounds N     rounds that count, after one that does not (5)`);
  process.exit(0);
}

export const isShards = values.shards;
export const isCatchUp = values['catch-up'];
export const points = Number(values.points ?? (isCatchUp ? 30_000 : 5_000));
export const [dimension, singles, searches, clients, rounds] = [
  values.dimension,
  values.singles,
  values.searches,
  values.clients,
  values.rounds,
].map(Number);
