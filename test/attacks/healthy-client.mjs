// A client as any other, in a process of its own: searches over both interfaces at a steady rate
// and tells, when asked, how long its answers took. Its load is far below what a server can do.
import { Agent, request } from 'node:http';
import { Client, credentials, Metadata } from '@grpc/grpc-js';

const PERIOD_MS = 20;
/** Without any there is nothing to tell. */
const LEAST_SEARCHES = 4;
const { HTTP, GRPC, KEY } = process.env;

const metadata = new Metadata();
metadata.set('authorization', KEY);
const grpc = new Client(GRPC, credentials.createInsecure());
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const same = (bytes) => bytes;

let wish;
let durationsMs = [];
let refusals = 0;
let failures = [];
let underWay = 0;
let isReporting = false;

function searchGrpc(done) {
  const path = `/vectordb.VectorDB/${wish.grpcMethod}`;
  grpc.makeUnaryRequest(path, same, same, wish.grpcMessage, metadata, (error) => {
    done(error === null, error?.code === 8, String(error));
  });
}

function searchHttp(done) {
  const headers = { 'api-key': KEY, 'content-length': Buffer.byteLength(wish.httpBody) };
  const options = { agent, method: 'POST', headers };
  const search = request(`${HTTP}${wish.httpPath}`, options, (answer) => {
    answer.resume();
    const { statusCode } = answer;
    answer.once('end', () => done(statusCode === 200, statusCode === 503, `HTTP ${statusCode}`));
  });
  search.once('error', (error) => done(false, false, String(error)));
  search.end(wish.httpBody);
}

function measure(search) {
  const beganAtMs = performance.now();
  underWay += 1;
  search((isRight, isRefused, outcome) => {
    underWay -= 1;
    durationsMs.push(performance.now() - beganAtMs);
    if (isRefused) refusals += 1;
    else if (!isRight) failures.push(outcome);
  });
}

function report() {
  const sorted = durationsMs.toSorted((a, b) => a - b);
  const p99Ms = sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0;
  process.send({ count: sorted.length, p99Ms, refusals, failures: failures.slice(0, 3) });
  durationsMs = [];
  refusals = 0;
  failures = [];
}

process.once('message', (wanted) => {
  wish = { ...wanted, grpcMessage: Buffer.from(wanted.grpcMessage, 'base64') };
  process.on('message', obey);
  setInterval(() => {
    if (isReporting) return;
    measure(searchGrpc);
    measure(searchHttp);
  }, PERIOD_MS);
});

function obey(order) {
  if (order === 'forget') {
    durationsMs = [];
    refusals = 0;
    failures = [];
  }
  // What is still under way belongs to what is told, however long it takes.
  if (order === 'report') {
    const wait = setInterval(() => {
      isReporting = durationsMs.length >= LEAST_SEARCHES;
      if (!isReporting || underWay > 0) return;
      clearInterval(wait);
      report();
      isReporting = false;
    }, 1);
  }
}
process.on('disconnect', () => process.exit());
