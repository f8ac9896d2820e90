// Stores, finds, fetches and deletes points over HTTP, with the fetch of Node.js.
// The service runs with DIMENSION=4; VECTORD_HTTP and VECTORD_KEY say where it is and how to enter.

const { VECTORD_HTTP = 'http://127.0.0.1:3000', VECTORD_KEY = '' } = process.env;

const { point_id: id } = await call('POST', '/points', {
  vector: [0.1, 0.2, 0.3, 0.4],
  payload: { content_type: 'Text', content: 'a cat on a mat' },
});
console.log('inserted:', id);

const { point_ids: ids } = await call('POST', '/points/batch', {
  vectors: [
    { vector: [0.4, 0.3, 0.2, 0.1], payload: { content_type: 'Text', content: 'a dog' } },
    { vector: [-1, 0, 0, 1], payload: { content_type: 'Image', content: 'bird.png' } },
  ],
});
console.log('inserted:', ids);

const { results } = await call('POST', '/points/search', {
  vector: [0.1, 0.2, 0.3, 0.5],
  similarity: 'Cosine',
  limit: 2,
});
console.log('nearest: ', results);

console.log('stored:  ', await call('GET', `/points/${id}`));

await call('DELETE', `/points/${id}`);
console.log('deleted: ', id);

/** Answers the JSON of the response; a status that is not a success becomes an error. */
async function call(method, path, body) {
  const headers = { 'api-key': VECTORD_KEY, 'content-type': 'application/json' };
  const request = { method, headers, body: JSON.stringify(body) };
  const response = await fetch(`${VECTORD_HTTP}${path}`, request);
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}
