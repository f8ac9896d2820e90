// A process of its own that inserts one batch. It stands for a client on another machine, so it has
// nothing else in memory to tidy up and gives way to all others: the cores are the server's. It says
// when it is ready, inserts on "insert", and says when that was sent and answered.
import { readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { openInterface } from './interfaces.mjs';
import { nowMs } from './linking.mjs';

setPriority(constants.priority.PRIORITY_LOW);
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
