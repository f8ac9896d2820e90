// What is done to the servers, each while they are written to. A fault returns when every server
// runs again.
import { setTimeout as sleep } from 'node:timers/promises';

/** Each is given the servers, the index of the stream's leader, and the number of the round. */
export const FAULTS = {
  /** In every second round the leader survives, which is what wedged older versions. */
  async 'two of three killed'(servers, leader, round) {
    const spared = round % 2 === 0 ? leader : other(leader, round);
    const killed = [0, 1, 2].filter((index) => index !== spared);
    await Promise.all(killed.map((index) => servers.kill(index)));
    await sleep(between(2_000, 15_000));
    for (const index of killed) servers.run(index);
    return { leaderSpared: spared === leader };
  },

  async 'the leader killed'(servers, leader) {
    await servers.kill(leader);
    await sleep(between(500, 10_000));
    servers.run(leader);
    return {};
  },

  /** In every second round the leader. */
  async 'one stopped and resumed'(servers, leader, round) {
    const index = round % 2 === 0 ? leader : other(leader, round);
    await servers.suspend(index);
    await sleep(between(5_000, 20_000));
    servers.resume(index);
    return { wasLeader: index === leader };
  },

  /** In every second round the leader. */
  async 'one without its folder'(servers, leader, round) {
    const index = round % 2 === 0 ? leader : other(leader, round);
    await servers.kill(index);
    servers.wipe(index);
    await sleep(between(500, 5_000));
    servers.run(index);
    return { wasLeader: index === leader };
  },
};

function other(leader, round) {
  return (leader + 1 + (Math.floor(round / 2) % 2)) % 3;
}

function between(from, to) {
  return from + Math.random() * (to - from);
}
