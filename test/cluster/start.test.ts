import { jetstream, jetstreamManager, type StreamConfig } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { HAS_NO_NATS } from '../support/cluster.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { Servers } from '../support/nats-servers.mjs';
import { expectRefusal } from '../support/refusal.js';
import { ownNatsServer } from '../support/replicas.js';
import { canMount, SmallDisk } from '../support/small-disk.js';
import { findNatsServer } from '../support/tools.mjs';
import { ownFolder, Vectord } from '../support/vectord.js';

const MIB = 1024 * 1024;
const NODE_FILE = 'node.json';

test('a node without a file of keys is refused with 2, and touches nothing', async () => {
  const { dataPath } = ownFolder();
  const vectord = new Vectord({ DATA_PATH: dataPath, CLUSTER_URL: 'nats://127.0.0.1:4222' });
  await expectRefusal(vectord, 2, 'SERVICE_KEYS_FILE is not set, expected with CLUSTER_URL');
  expect(existsSync(dataPath)).toBe(false);
});

describe.skipIf(HAS_NO_NATS)('the start of a node (needs nats-server)', () => {
  const servers = ownNatsServer();
  let cluster = 'vectord';

  /** The settings of a node on a fresh folder, of a cluster of one. */
  function newNode() {
    const { environment, dataPath } = ownFolder();
    const env: Record<string, string> = {
      ...environment,
      CLUSTER_URL: `nats://${servers().addresses[0]}`,
      CLUSTER_NAME: cluster,
      CLUSTER_REPLICAS: '1',
      // The server reserves the space of each cluster.
      CLUSTER_LOG_BYTES: String(16 * MIB),
      MAX_REQUEST_BYTES: String(MIB),
    };
    return { env, dataPath };
  }

  /** A cluster has begun, of which one node has stopped again. */
  async function begin(loops = '2') {
    cluster = `c-${randomUUID().slice(0, 8)}`;
    const node = newNode();
    const vectord = await Vectord.start({ ...node.env, LOOPS: loops });
    expect(await vectord.insert('the-key')).toBe(201);
    expect(await vectord.stop(), vectord.stderr).toEqual({ code: 0, signal: null });
    return node;
  }

  /** What the server says of connections since its start. */
  async function connections() {
    const response = await fetch(`${servers().monitors[0]}/varz`);
    return (await response.json()) as { total_connections: number };
  }

  test('a node is the same again on its folder, with all points', async () => {
    const { env, dataPath } = await begin();
    const file = readFileSync(join(dataPath, NODE_FILE), 'utf8');
    delete env['DIMENSION'];
    const vectord = await Vectord.start(env);
    expect(vectord.value('dimension')).toContain('4');
    expect(vectord.value('dimension')).toContain('the cluster');
    expect(vectord.value('points')).toBe('1');
    expect(readFileSync(join(dataPath, NODE_FILE), 'utf8')).toBe(file);
    expect(await vectord.stop(), vectord.stderr).toEqual({ code: 0, signal: null });
  });

  test.skipIf(!canMount())(
    'a copy that cannot be removed ends no start (needs Linux that lets its users mount a disk)',
    async () => {
      const { env, dataPath } = await begin();
      const copy = join(dataPath, 'copy-left');
      mkdirSync(copy);
      const disk = await SmallDisk.mount(copy, MIB);
      onTestFinished(() => disk.release());
      writeFileSync(disk.path('MADE-BY-VECTORD'), '');
      const vectord = await Vectord.start(env, { wrapper: disk.wrapper });
      expect(vectord.value('points')).toBe('1');
      expect(vectord.stderr + vectord.stdout).toContain('a copy of points cannot be removed');
      expect(await vectord.stop(), vectord.stderr).toEqual({ code: 0, signal: null });
    },
  );

  test('a node with settings that are not those of its cluster is refused', async () => {
    const { env } = await begin();
    const refused = async (other: Record<string, string>, reason: string) =>
      await expectRefusal(new Vectord({ ...env, ...other }), 1, reason);
    await Promise.all([
      refused(
        { DIMENSION: '5' },
        `DIMENSION is 5, but the cluster ${cluster} was made with 4: set it to 4`,
      ),
      refused(
        { CLUSTER_REPLICAS: '3' },
        `CLUSTER_REPLICAS is 3, but the cluster ${cluster} was made with 1`,
      ),
      refused(
        { CLUSTER_NAME: 'another' },
        `is that of a node of the cluster ${cluster}, expected another (CLUSTER_NAME)`,
      ),
    ]);
  });

  test('a node more than its cluster has is refused', async () => {
    await begin();
    await expectRefusal(
      new Vectord(newNode().env),
      1,
      `the cluster ${cluster} has its 1 nodes, and this one is none of them`,
    );
  });

  test('the folder of a node is not taken by a single server, nor the other way round', async () => {
    const { env, dataPath } = await begin();
    const { CLUSTER_URL: url = '', ...single } = env;
    await expectRefusal(
      new Vectord(single),
      1,
      `${dataPath} (DATA_PATH) is that of a node of a cluster: set CLUSTER_URL, or start on another`,
    );
    const other = ownFolder();
    const vectord = await Vectord.start(other.environment);
    expect(await vectord.insert('the-key')).toBe(201);
    await vectord.stop();
    await expectRefusal(
      new Vectord({ ...other.environment, CLUSTER_URL: url, CLUSTER_NAME: cluster }),
      1,
      `${other.dataPath} (DATA_PATH) holds the points of a single server`,
    );
    expect(existsSync(join(other.dataPath, NODE_FILE))).toBe(false);
  });

  /** The streams of the server, to a client of NATS. */
  async function streams() {
    const connection = await connect({ servers: [...servers().addresses] });
    onTestFinished(async () => await connection.close());
    return (await jetstreamManager(connection)).streams;
  }

  test('a stream with its name and other settings is not taken, and its own is made once that has gone', async () => {
    const manager = await streams();
    cluster = `c-${randomUUID().slice(0, 8)}`;
    const name = `${cluster}-0`;
    const { env } = newNode();
    const settings = { discard: 'new', deny_delete: true, duplicate_window: 120e9 } as const;
    const refused = async (other: Partial<StreamConfig>, reason: string): Promise<void> => {
      await manager.add({ name, subjects: [`${cluster}.0.log`], ...settings, ...other });
      await expectRefusal(new Vectord(env), 1, `the stream ${name} of the NATS servers`, reason);
      await manager.delete(name);
    };
    await refused({ discard: 'old' }, 'has discard "old", expected "new"');
    await refused({ storage: 'memory' }, 'has storage "memory", expected "file"');
    await refused({ deny_delete: false }, 'has deny_delete false, expected true');
    await refused(
      { duplicate_window: 6e10 },
      'duplicate_window 60000000000, expected 120000000000',
    );
    await refused({ max_msgs: 7 }, 'has max_msgs 7, expected -1');
    await refused({ subjects: ['another'] }, 'has subjects ["another"], expected');
    const vectord = await Vectord.start(env);
    expect(await vectord.insert('the-key')).toBe(201);
    await vectord.stop();
  });

  test('a new cluster does not take the stream that is left of another', async () => {
    const { env } = await begin();
    const manager = await streams();
    await manager.delete(`KV_${cluster}`);
    const next = { ...newNode().env, DIMENSION: '5' };
    const reason = `the stream ${cluster}-0 of the NATS servers has the writes of another cluster`;
    await expectRefusal(new Vectord(next), 1, reason, `nats stream rm ${cluster}-0`);
    // That of the old one has not changed.
    await expectRefusal(new Vectord(env), 1, 'is that of a node that is not in the cluster');
    await manager.delete(`${cluster}-0`);
    const vectord = await Vectord.start(next);
    expect(vectord.value('points')).toBe('0');
    await vectord.stop();
  });

  test('what another client has written in place of the map is refused', async () => {
    const { env } = await begin();
    const connection = await connect({ servers: [...servers().addresses] });
    onTestFinished(async () => await connection.close());
    for (const text of ['not JSON', 'null', '{"nodes":[]}']) {
      await jetstream(connection).publish(`$KV.${cluster}.map`, text);
      await expectRefusal(
        new Vectord(env),
        1,
        `(bucket ${cluster}) is none that a node has written`,
      );
    }
    await jetstream(connection).publish(`$KV.${cluster}.map`, '{"version":2}');
    await expectRefusal(new Vectord(env), 1, `(bucket ${cluster}) has version 2, expected 1`);
  });

  test('a stream that was set otherwise after it was made is refused, one of another size is not', async () => {
    const { env } = await begin();
    const manager = await streams();
    const larger = { ...env, CLUSTER_LOG_BYTES: String(32 * MIB) };
    const other = await Vectord.start(larger);
    expect(other.stderr).toContain(
      `CLUSTER_LOG_BYTES is ${32 * MIB}, but the stream ${cluster}-0 has ${16 * MIB}, which stay`,
    );
    await other.stop();
    await manager.update(`${cluster}-0`, { max_bytes: 32 * MIB });
    const same = await Vectord.start(larger);
    expect(same.stderr).not.toContain('CLUSTER_LOG_BYTES');
    await same.stop();
    await manager.update(`${cluster}-0`, { max_age: 3_600e9 });
    await expectRefusal(new Vectord(env), 1, 'has max_age 3600000000000, expected 0');
  });

  test.each([
    [
      'takes small messages alone',
      { max_payload: 65_535 },
      'max_payload of the NATS server n0 is 65535, expected at least 65536: raise it',
    ],
    [
      'expects other credentials',
      { authorization: { users: [{ user: 'someone', password: 'something' }] } },
      'no NATS server of CLUSTER_URL takes a connection',
    ],
  ])('a server that %s is refused', async (_, settings, reason) => {
    const options = { count: 1, settings } as const;
    const other = await Servers.start(findNatsServer() ?? '', makeTemporaryFolder(), options);
    onTestFinished(async () => await other.end());
    const env = { ...newNode().env, CLUSTER_URL: `nats://${other.addresses[0]}` };
    await expectRefusal(new Vectord(env), 1, reason);
  });

  test('a node says at once which servers it waits for, and starts once one is there', async () => {
    const users = [{ user: 'node', password: 'secret' }];
    const options = { count: 1, settings: { authorization: { users } } } as const;
    const other = await Servers.start(findNatsServer() ?? '', makeTemporaryFolder(), options);
    onTestFinished(async () => await other.end());
    await other.kill(0);
    const [address = ''] = other.addresses;
    const vectord = new Vectord({ ...newNode().env, CLUSTER_URL: `nats://node:secret@${address}` });
    await vectord.until(() => /waiting for NATS/.test(vectord.stderr));
    expect(vectord.stderr).toContain(`nats://${address}`);
    expect(vectord.stderr).toContain('no NATS server of CLUSTER_URL takes a connection: ');
    // The next line comes after ten seconds, whatever is tried until then.
    await sleep(1_000);
    expect(vectord.stderr.match(/waiting for NATS/g)).toHaveLength(1);
    expect(vectord.stderr).not.toContain('secret');
    other.run(0);
    await vectord.until(() => /^ready$/m.test(vectord.stdout));
    expect(await vectord.stop()).toEqual({ code: 0, signal: null });
  });

  test.each([
    ['a user', { users: [{ user: 'node', password: 'p@ss:w/%' }] }, 'node:p%40ss%3Aw%2F%25@'],
    ['a token', { token: 'a-token' }, 'a-token@'],
  ])('a node is %s to the servers that its URL names', async (_, authorization, login) => {
    const options = { count: 1, settings: { authorization } } as const;
    const other = await Servers.start(findNatsServer() ?? '', makeTemporaryFolder(), options);
    onTestFinished(async () => await other.end());
    const url = `nats://${login}${other.addresses[0]}`;
    const vectord = await Vectord.start({ ...newNode().env, CLUSTER_URL: url });
    expect(await vectord.insert('the-key')).toBe(201);
    await vectord.stop();
    expect(vectord.stderr + vectord.stdout).not.toContain(login);
  });

  test('a node tries once whether a server takes a connection, and then makes those that it keeps', async () => {
    const { total_connections: before } = await connections();
    await begin('3');
    const { total_connections: after } = await connections();
    expect(after - before).toBe(1 + 1 + 3);
  });

  test('a folder whose node cannot be told is refused', async () => {
    const { env, dataPath } = newNode();
    mkdirSync(dataPath);
    writeFileSync(join(dataPath, NODE_FILE), '{"cluster":1}');
    await expectRefusal(new Vectord(env), 1, NODE_FILE, 'it names no cluster and no node');
  });
});
