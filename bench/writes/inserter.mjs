// A process of its own that inserts one batch and has nothing else in memory: what a client does
// with its own memory takes cores, and shall not count as the server's time. It says when it is
// ready, inserts on "insert", and says when that was sent and answered.
import { readFileSync } from 'node:fs';
import { openInterface } from './interfaces.mjs';
import { nowMs } from './linking.mjs';

const [name, server, file] = process.argv.slice(2);
const target = openInterface(name, JSON.parse(server));
const batch = readFileSync(file);

process.once('message', () => void insert());
process.send('ready');

async function insert() {
  const sentMs = nowMs();
  await target.insert(batch);
  process.send({ sentMs, answeredMs: nowMs() }, () => process.exit());
}
