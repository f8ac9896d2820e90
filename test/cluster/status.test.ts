import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { hostname } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { subjects } from '../../src/cluster/nats/subjects.js';
import type { ClusterStatus, ShardStatus } from '../../src/cluster/status/model.js';
import { VERSION } from '../../src/config/version.js';
import { NodeReport, Question } from '../../src/gen/vectord/cluster/v1/cluster.js';
import { clientsOf, contentOf, HAS_NO_NATS, TestCluster } from '../support/cluster.js';
import { Vectord } from '../support/vectord.js';

const TIMEOUT_MS = 90_000;
const POLL = { timeout: 20_000 };

/** Whatever the servers do, it is said in this time. */
const LONGEST_MS = 15_000;

const NEW = [{ vector: [5, 5, 5, 5], content: 'new' }];

type Printed = ClusterStatus & { readonly problems: readonly string[] };

function onlyShardOf({ shards: [shard] }: ClusterStatus): ShardStatus {
  if (shard === undefined) throw new Error('there is no shard');
  return shard;
}

test('without CLUSTER_URL it says which setting is missing', async () => {
  const status = new Vectord({}, ['cluster', 'status']);
  expect(await status.exit).toEqual({ code: 2, signal: null });
  expect(status.stderr).toContain('vectord cluster status failed: CLUSTER_URL is not set');
});

describe.skipIf(HAS_NO_NATS)(
  'vectord cluster status (needs nats-server)',
  { timeout: TIMEOUT_MS },
  () => {
    let cluster: TestCluster;

    beforeAll(async () => {
      cluster = await TestCluster.start();
    }, TIMEOUT_MS);
    afterAll(async () => await cluster.end(), TIMEOUT_MS);

    async function printed(): Promise<Printed> {
      const { code, stdout } = await cluster.status(['--json']);
      const status = JSON.parse(stdout) as Printed;
      expect(code).toBe(status.problems.length === 0 ? 0 : 1);
      return status;
    }

    test('of a cluster that is well has each server, the stream and each node', async () => {
      const [client] = clientsOf(cluster.nodes).map(({ v1 }) => v1);
      await client?.upsert(NEW);
      await client?.upsert(NEW);
      const status = await printed();
      expect(status).toMatchObject({ cluster: 'vectord', dimension: 4, replicas: 3, problems: [] });
      expect(cluster.servers.names).toContain(status.nats.server);
      expect(status.shards).toHaveLength(1);
      const { stream, nodes } = onlyShardOf(status);
      expect(stream).toMatchObject({ name: 'vectord-0', isOfMap: true, limitBytes: 1024 ** 3 });
      expect(stream?.servers.map(({ name }) => name).toSorted()).toEqual(cluster.servers.names);
      expect(stream?.servers.filter(({ state }) => state === 'leader')).toHaveLength(1);
      expect(stream).toMatchObject({ messages: 2, firstSequence: 1, lastSequence: 2 });
      const well = { history: 'same', isFull: false, isClockOff: false, strays: 0 };
      const answer = { sequence: 2, lacks: 0, ...well };
      expect(nodes.map((node) => node.answer)).toEqual([answer, answer, answer]);
      const { code, stdout, stderr } = await cluster.status();
      expect(code).toBe(0);
      expect(stderr).toBe('');
      for (const { node } of nodes) {
        expect(stdout).toMatch(
          new RegExp(`^${node}  yes  +same  +has space  +\\d  +2  +0  +0$`, 'm'),
        );
      }
      for (const { dataPath, http, grpc } of cluster.nodes) {
        const ports = [new URL(http).port, grpc.split(':').at(-1)].join('  +');
        const place = `${hostname()}  +${VERSION}  +following  +${ports}  +2`;
        expect(stdout).toMatch(new RegExp(`^${contentOf(dataPath).node}  ${place}$`, 'm'));
      }
      expect(stdout).toMatch(/\nall is well\n$/);
    });

    test('counts what is in the stream and no message of a node, and all goes on', async () => {
      const nats = await connect({ servers: [...cluster.servers.addresses] });
      for (const text of ['{"hello":"world"}', 'hello', '[1]']) {
        await jetstream(nats).publish(subjects.log('vectord', 0), text);
      }
      // Nor do nodes believe whoever says that all of them have lost their logs.
      for (const replica of [0, 1, 2]) {
        const lost = { replica, incarnation: 1 };
        const question = { gateway: '0'.repeat(16), number: 1, lost, unconfirmed: [] };
        nats.publish(
          subjects.questions('vectord', 0),
          Question.encode({ reached: undefined, ...question }).finish(),
        );
      }
      await nats.close();
      const [client] = clientsOf(cluster.nodes).map(({ v1 }) => v1);
      await client?.upsert(NEW);
      const strays = async () =>
        onlyShardOf(await printed()).nodes.map(({ answer }) => answer?.strays);
      expect(await strays()).toEqual([3, 3, 3]);
      const { code, stdout } = await cluster.status();
      expect(code).toBe(0);
      expect(stdout).toMatch(/ +6 +0 +3$/m);
      // A node that starts again is not held up either.
      await cluster.node(0).kill();
      await cluster.run(0);
      await client?.upsert(NEW);
      await expect.poll(async () => (await printed()).problems, POLL).toEqual([]);
    });

    test('names a node that is down, and is well again with it', async () => {
      await cluster.nodes[1]?.kill();
      const status = await printed();
      const { problems } = status;
      const down = onlyShardOf(status).nodes.filter(({ answer }) => answer === undefined);
      expect(down).toHaveLength(1);
      expect(problems).toEqual([
        expect.stringContaining(`node ${down[0]?.node} does not answer: `),
      ]);
      const { code, stdout } = await cluster.status();
      expect(code).toBe(1);
      expect(stdout).toMatch(new RegExp(`^${down[0]?.node}  no `, 'm'));
      expect(stdout).toContain(problems[0]);
      // Whoever answers in its place does not act on the terminal, nor writes lines of the status.
      const nats = await connect({ servers: [...cluster.servers.addresses] });
      const forged = '\u001b[2J\u009b2J\u0007\nall is well';
      const report = { host: forged, version: forged, reason: forged, state: 'starting' };
      const numbers = { httpPort: 1, grpcPort: 1, points: 0, needsPoints: false };
      nats.subscribe(subjects.node('vectord', down[0]?.node ?? ''), {
        callback: (_, message) => {
          message.respond(NodeReport.encode({ ...report, ...numbers }).finish());
        },
      });
      await nats.flush();
      const told = await cluster.status();
      expect(told.stdout).not.toMatch(/[^\n -\u007e]|^all is well/m);
      expect(told.stdout.match(/\\u001b\[2J\\u009b2J\\u0007\\u000aall is well/g)).toHaveLength(4);
      const json = await cluster.status(['--json']);
      expect(json.stdout).not.toMatch(/[^\n -\u007e]/);
      expect(onlyShardOf(JSON.parse(json.stdout) as Printed).nodes).toContainEqual(
        expect.objectContaining({ report: expect.objectContaining(report) as unknown }),
      );
      await nats.close();
      await cluster.run(1);
      await expect.poll(async () => (await printed()).problems, POLL).toEqual([]);
    });

    test('names a NATS server that is down, and is well again with it', async () => {
      await cluster.servers.kill(2);
      const problem = expect.stringContaining('the NATS server n2 is ');
      await expect.poll(async () => (await printed()).problems, POLL).toEqual([problem]);
      cluster.servers.run(2);
      await cluster.servers.ready();
      await expect.poll(async () => (await printed()).problems, POLL).toEqual([]);
    });

    test('knows no cluster of another name, and makes none', async () => {
      for (let round = 0; round < 2; round += 1) {
        const { code, stderr } = await cluster.status([], { CLUSTER_NAME: 'other' });
        expect(code).toBe(1);
        expect(stderr).toContain('the NATS servers know no cluster other (CLUSTER_NAME)');
      }
    });

    test('ends in time where NATS is silent, half down or down', async () => {
      const expectRefusal = async (reason: string): Promise<void> => {
        const begunAtMs = performance.now();
        const { code, stdout, stderr } = await cluster.status();
        expect(performance.now() - begunAtMs).toBeLessThan(LONGEST_MS);
        expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
        expect(stderr).toContain(reason);
      };
      const all = [0, 1, 2];
      await Promise.all(all.map(async (server) => await cluster.servers.suspend(server)));
      await expectRefusal('no NATS server of CLUSTER_URL takes a connection');
      for (const server of all) cluster.servers.resume(server);
      await Promise.all([0, 1].map(async (server) => await cluster.servers.kill(server)));
      await expectRefusal('JetStream of the NATS servers does not answer');
      await cluster.servers.kill(2);
      await expectRefusal('no NATS server of CLUSTER_URL takes a connection');
      for (const server of all) cluster.servers.run(server);
    });
  },
);
