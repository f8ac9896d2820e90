/** What is published of each benchmark, and the flags of such a run. */
export const BENCHMARKS = {
  scan: { title: 'The exact scan beside a plain read of memory', flags: [] },
  scale: { title: 'Searches over the number of points at equal recall', flags: ['--long'] },
  filters: { title: 'Filtered searches', flags: ['--changing'] },
  'filter-peers': { title: 'Filtered searches beside Qdrant Edge', flags: [] },
  neighbours: { title: 'Searches beside a program that streams through memory', flags: [] },
  'filter-servers': { title: 'Filtered searches beside other servers', flags: [] },
  engine: { title: 'A search through the engine beside a walk of the bare graph', flags: [] },
  loops: { title: 'A second event loop', flags: [] },
  payloads: { title: 'What contents cost', flags: [] },
  memory: { title: 'Where the bytes of a point are', flags: [] },
  requests: { title: 'What a request costs the server', flags: [] },
  restart: { title: 'From the start to the first answer', flags: [] },
  durable: { title: 'Durable inserts and restarts beside SQLite', flags: [] },
  servers: { title: 'vectord beside other servers', flags: [] },
  writes: { title: 'Searches while a batch is inserted', flags: [] },
  vectordbbench: { title: 'vectord under VectorDBBench', flags: [] },
};
