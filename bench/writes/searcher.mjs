// A process of its own that searches at a fixed rate, whether answers come or not, so that a server
// that is held up is asked as often as one that is not. On "stop" it sends what it has measured:
// when each search was sent, on the clock that all processes share, and how long it took.
import { openInterface } from './interfaces.mjs';

const samples = [];
const stop = new AbortController();

process.on('message', (message) => {
  if (message.type === 'stop') stop.abort();
  else void searchOn(message);
});

/** @param {{ name: 'http' | 'grpc', server: object, vectors: number[][], rate: number }} plan */
async function searchOn({ name, server, vectors, rate }) {
  const target = openInterface(name, server);
  const requests = vectors.map((vector) => target.makeSearch(Float32Array.from(vector)));
  const intervalMs = 1_000 / rate;
  const answers = new Set();
  for (let sent = 0, startMs = nowMs(); !stop.signal.aborted; sent += 1) {
    const aheadMs = startMs + sent * intervalMs - nowMs();
    if (aheadMs > 0) await new Promise((resolve) => setTimeout(resolve, aheadMs));
    const answer = measure(target, requests[sent % requests.length]);
    answers.add(answer);
    void answer.then(() => answers.delete(answer));
  }
  await Promise.all(answers);
  process.send(samples, () => process.exit());
}

async function measure(target, request) {
  const sentMs = nowMs();
  await target.search(request);
  samples.push([sentMs, nowMs() - sentMs]);
}

function nowMs() {
  return Number(process.hrtime.bigint()) / 1e6;
}
