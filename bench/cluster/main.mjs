// What a cluster costs, and how fast a node catches up. CPU time is that of all processes, the NATS
// servers included. Usage: see --help.
import { mkdirSync, writeFileSync } from 'node:fs';
import { catchUp } from './catch-up.mjs';
import { costOfReplicas, costOfShards } from './costs.mjs';
import { isCatchUp, isShards } from './options.mjs';
import { Services } from './services.mjs';

const [name, act] = isCatchUp
  ? ['cluster-catch-up', catchUp]
  : isShards
    ? ['cluster-shards', costOfShards]
    : ['cluster', costOfReplicas];
const services = await Services.start();
try {
  const rows = await act(services);
  console.table(rows);
  mkdirSync('bench/results', { recursive: true });
  writeFileSync(`bench/results/${name}.json`, `${JSON.stringify(rows, undefined, 2)}\n`);
} finally {
  await services.end();
}
