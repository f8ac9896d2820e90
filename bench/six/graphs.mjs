// The graphs of the engine alone, on one thread: builds, and searches at equal breadth.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const M = 16;
const EF_CONSTRUCTION = 200;
const LIMIT = 10;
const RECALLS = [0.95, 0.99];
/** Each about a tenth more than the one before. */
const LADDER = Array.from({ length: 50 }, (_, step) => Math.round(LIMIT * 1.1 ** step));
/** A build of so many points takes some seconds. */
const BUILT_POINTS = 10_000;
/** All queries so often take some tenths of a second. */
const PASSES = 10;

/** What searches and builds take, in milliseconds of processor time. */
export async function measureGraphs(builds, set, inTurns) {
  const peers = await Promise.all(builds.map(async (build) => await open(build, set, set.points)));
  try {
    for (const peer of peers) await peer.ask('build 1');
    const figures = [];
    for (const recall of RECALLS) {
      const ef = await breadthFor(recall, peers[0], set);
      const search = async (peer) => {
        let seconds = 0;
        for (let pass = 0; pass < PASSES; pass += 1) {
          seconds += (await peer.ask(`search ${ef}`)).cpu_seconds;
        }
        return (1e6 * seconds) / (PASSES * set.queries.length);
      };
      const what = `${set.name}: a search at recall ${recall} (ef ${ef})`;
      figures.push({ what, unit: 'µs', values: await inTurns(peers, search) });
    }
    const points = Math.min(BUILT_POINTS, set.points);
    const build = async (peer) => {
      const fresh = await open(peer.build, set, points);
      const { cpu_seconds: seconds } = await fresh.ask('build 1');
      fresh.close();
      return seconds;
    };
    const what = `${set.name}: building the graph of ${points} points`;
    figures.push({ what, unit: 's', values: await inTurns(peers, build) });
    return figures;
  } finally {
    for (const peer of peers) peer.close();
  }
}

/** The process that has the graph of a build, see crates/bench/src/bin/peer. */
async function open(build, { metric, basePath, queryPath }, points) {
  const program = join(build.root, 'target/release/peer');
  const args = ['vectord', metric, basePath, queryPath, points, M, EF_CONSTRUCTION].map(String);
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`${program} has ended with ${code}`);
  });
  failed.catch(() => undefined);
  const answer = async () => JSON.parse((await Promise.race([lines.next(), failed])).value);
  await answer();
  const ask = async (command) => {
    child.stdin.write(`${command}\n`);
    return await answer();
  };
  return { build, ask, close: () => child.stdin.end() };
}

async function breadthFor(recall, peer, set) {
  const nearest = exactRows(set);
  for (const ef of LADDER) {
    const { found } = await peer.ask(`search ${ef}`);
    const hits = found.flatMap((rows, query) => rows.filter((row) => nearest[query].has(row)));
    if (hits.length >= recall * LIMIT * set.queries.length) return ef;
  }
  throw new Error(`no breadth up to ${LADDER.at(-1)} reaches a recall of ${recall}`);
}

const exact = new WeakMap();

/** The rows that are nearest to each query, by ranking all. */
function exactRows(set) {
  if (!exact.has(set))
    exact.set(
      set,
      set.queries.map((query) => rank(query, set)),
    );
  return exact.get(set);
}

function rank(query, { base, metric }) {
  const distances = base.map((vector) => {
    let [product, square] = [0, 0];
    for (let at = 0; at < query.length; at += 1) {
      product += query[at] * vector[at];
      square += vector[at] * vector[at];
    }
    return metric === 'Cosine' ? -product / Math.sqrt(square) : square - 2 * product;
  });
  const rows = Uint32Array.from(distances.keys()).toSorted((a, b) => distances[a] - distances[b]);
  return new Set(rows.subarray(0, LIMIT));
}
