import { readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Servers } from '../../support/nats-servers.mjs';
import { flipBit } from './flip-bit.js';
import { anyServer, type Fault, type Scene } from './scene.js';
import { lostMessages } from './server-state.js';

/** A server that is not well after this time does not get well by itself. */
const STARTS_MS = 45_000;

/** The messages of the streams, those of their Raft groups, and whatever else a server keeps. */
const isBlock = (path: string) => path.endsWith('.blk');
const isOfRaft = (path: string) => path.includes('$SYS');

export const SERVER_FLIPS: Readonly<Record<string, Fault>> = {
  'a bit flips in the messages of a server': async (scene) =>
    await flip(scene, (path) => isBlock(path) && !isOfRaft(path)),
  'a bit flips in the Raft log of a server': async (scene) =>
    await flip(scene, (path) => isBlock(path) && isOfRaft(path)),
  'a bit flips in the meta files of a server': async (scene) =>
    await flip(scene, (path) => !isBlock(path)),
};

/**
 * A server is killed, and starts with a bit flipped in one of its files. Where it does not come back
 * to its place, or lacks messages that it never asks the others for, it is emptied.
 */
async function flip(scene: Scene, isMeant: (path: string) => boolean): Promise<void> {
  const { servers } = scene.cluster;
  const index = anyServer(scene);
  await servers.kill(index);
  const flipped = flipBit(scene.random, filesIn(servers.folder(index)).filter(isMeant));
  // It would spare the server the reading of all messages as it starts: the damage is to be found now.
  if (isBlock(flipped)) rmSync(join(dirname(flipped), 'index.db'), { force: true });
  servers.run(index);
  const fault = await faultOf(servers, index);
  if (fault === undefined) return;
  console.log(`after a flip in ${flipped} a server is emptied: ${fault}`);
  await servers.kill(index);
  servers.wipe(index);
  servers.run(index);
}

/** What the operator sees of it that does not pass. */
async function faultOf(servers: Servers, index: number): Promise<string | undefined> {
  try {
    await servers.ready(STARTS_MS);
  } catch (error) {
    return String(error);
  }
  const lost = await lostMessages(servers, index);
  return lost === 0 ? undefined : `it has lost ${lost} messages`;
}

/** Those that are not empty. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => statSync(path).size > 0);
}
