// The engine in the process of a program, without a server, ports and keys: stores points in a
// folder, closes it, and finds them in it again.
//
//   npx esbuild examples/embedded.ts --format=esm | node --input-type=module
//   node examples/embedded.ts      (Node.js 22.18 or newer runs TypeScript as it is)
//
// It needs no service. What `open` gives has the operations of the client in points.ts.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NewPoint } from 'vectord';
import { open } from 'vectord/embedded';

// A folder of your own in a real program, such as './data'. Without `path` the points are in a
// temporary folder until the client is closed, which suits tests.
const path = await mkdtemp(join(tmpdir(), 'vectord-example-'));
const dimension = 16;

/** A vector that points to an angle in the first two dimensions. */
function towards(degrees: number): Float32Array {
  const angle = (degrees / 180) * Math.PI;
  const vector = new Float32Array(dimension);
  vector.set([Math.cos(angle), Math.sin(angle)]);
  return vector;
}

function* circle(): Generator<NewPoint> {
  for (let degrees = 0; degrees < 360; degrees += 1) {
    yield { vector: towards(degrees), content: `${degrees} degrees`, metadata: { degrees } };
  }
}

try {
  const first = await open({ path, dimension });
  // bulk takes any iterable, an asynchronous one too, and sends it in batches.
  const { stored } = await first.bulk(circle());
  console.log(`${stored} stored`);
  await first.close();

  // The folder remembers its dimension. A server may open it, too, once this client is closed.
  const second = await open({ path });
  console.log(`${await second.count()} points after opening the folder again`);
  const found = await second.search({
    vector: towards(90),
    similarity: 'Euclidean',
    limit: 2,
    filter: { degrees: { $gt: 90 } },
    include: ['content'],
  });
  console.log('nearest to 90, above it:', found.map(({ content }) => content).join(', '));
  await second.close();
} finally {
  await rm(path, { recursive: true });
}
