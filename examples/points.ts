// The client for TypeScript and JavaScript: stores points, searches them, changes one, lists and
// deletes them.
//
//   npx esbuild examples/points.ts --format=esm | node --input-type=module
//   node examples/points.ts        (Node.js 22.18 or newer runs TypeScript as it is)
//
// The service has DIMENSION=4. VECTORD_KEY is a key of it that may write, VECTORD_URL its address:
// grpc://HOST:PORT or http://HOST:PORT. Nothing else in the program depends on which of them it is.
import { connect, idFor, NotFoundError, type NewPoint, type Query } from 'vectord';

const { VECTORD_URL = 'grpc://127.0.0.1:50051', VECTORD_KEY } = process.env;

// idFor always makes the same UUID of the same text, so that a second run replaces these points.
const id = {
  cat: idFor('points.ts cat'),
  dog: idFor('points.ts dog'),
  bird: idFor('points.ts bird'),
  fish: idFor('points.ts fish'),
};
const animals: readonly NewPoint[] = [
  { id: id.cat, vector: [0.9, 0.1, 0, 0.2], content: 'a cat', metadata: { legs: 4 } },
  { id: id.dog, vector: [0.7, 0.3, 0, 0.1], content: 'a dog', metadata: { legs: 4 } },
  { id: id.bird, vector: [0, 0.8, 0.3, 0], content: 'a bird', metadata: { legs: 2 } },
  { id: id.fish, vector: [0, 0, 0.9, 0.4], content: 'a fish', metadata: { legs: 0 } },
];

const client = connect(VECTORD_URL, { key: VECTORD_KEY });
try {
  const { version, dimension } = await client.info();
  console.log(`vectord ${version} with ${dimension} dimensions`);

  const { stored, replaced } = await client.upsert(animals);
  console.log(`${stored} stored, ${replaced} replaced`);

  // An answer holds what `include` names, besides the id.
  const query: Query = { vector: [0.8, 0.2, 0, 0.2], similarity: 'Cosine', limit: 2 };
  for (const point of await client.search({ ...query, include: ['distance', 'content'] })) {
    console.log(`near: ${point.content} at ${point.distance?.toFixed(3)}`);
  }

  // Many queries in one request. Each may have a filter, or begin at a stored point.
  const [fewLegs = [], likeTheCat = []] = await client.searchAll([
    { ...query, filter: { legs: { $lt: 4 } }, include: ['content'] },
    { like: id.cat, similarity: 'Euclidean', limit: 1, include: ['content'] },
  ]);
  console.log('near, with less than four legs:', fewLegs.map(({ content }) => content).join(', '));
  console.log('like the cat:', likeTheCat.map(({ content }) => content).join(', '));

  // What an update does not name stays as it is.
  await client.update([{ id: id.cat, metadata: { legs: 4, says: 'meow' } }]);
  const { points } = await client.get([id.cat]);
  console.log('updated:', points[0]?.content, JSON.stringify(points[0]?.metadata));

  // scroll reads page after page, so that any number of points fits into memory.
  const four = { legs: 4 };
  console.log(`${await client.count({ filter: four })} with four legs, the oldest first:`);
  for await (const { content } of client.scroll({ filter: four })) console.log(`- ${content}`);

  const { deleted } = await client.delete(Object.values(id));
  console.log(`${deleted} deleted`);

  // Errors are classes; each has a code, and says whether the same call may succeed later.
  try {
    await client.search({ like: id.cat, similarity: 'Cosine', limit: 1 });
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    console.log(`${error.code}, retryable: ${error.retryable}`);
  }
} finally {
  client.close();
}
