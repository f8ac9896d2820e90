import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { subjects } from '../../src/cluster/nats/subjects.js';
import { clientsOf, HAS_NO_NATS, TestCluster, urlOf } from '../support/cluster.js';

const TIMEOUT_MS = 90_000;
const POLL = { timeout: 20_000 };
const CLUSTER = 'vectord';

interface Authorization {
  readonly users: readonly { readonly user: string; readonly password: string }[];
}

/** What docs/SECURITY.md has for the configuration of NATS servers. */
function documented(): { authorization: Authorization } {
  const text = readFileSync('docs/SECURITY.md', 'utf8');
  const block = /```text\n("authorization"[^`]*)```/.exec(text)?.[1];
  return JSON.parse(`{${block}}`) as { authorization: Authorization };
}

describe.skipIf(HAS_NO_NATS)('the NATS permissions of docs/SECURITY.md (need nats-server)', () => {
  test(
    'are enough for nodes and for the status, and the operator writes nothing',
    async () => {
      const settings = documented();
      const [node, operator] = settings.authorization.users.map(
        ({ user, password }) => `${user}:${password}@`,
      );
      const cluster = await TestCluster.start({}, { settings, login: node ?? '' });
      onTestFinished(async () => await cluster.end());
      const { servers } = cluster;
      const clients = clientsOf(cluster.nodes);
      for (const [at, { v1 }] of clients.entries()) {
        await v1.upsert([{ vector: [at, 1, 2, 3], content: 'x'.repeat(2 ** 20 / 2) }]);
      }
      for (const { v1 } of clients) expect(await v1.count()).toBe(clients.length);
      // Its parts are messages that the stream is asked for.
      const large = Array.from({ length: 4 }, () => ({
        vector: [1, 2, 3, 4],
        content: 'x'.repeat(2 ** 19),
      }));
      await clients[0]?.v1.upsert(large);
      const status = async () => {
        const { code, stdout, stderr } = await cluster.status([], {
          CLUSTER_URL: urlOf(servers.addresses, operator),
        });
        return { code, stdout, stderr };
      };
      await expect
        .poll(status, POLL)
        .toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('all is well') });
      // The nodes have told of themselves.
      expect((await status()).stdout.split(hostname())).toHaveLength(cluster.nodes.length + 1);

      // Trimming takes more writes than a test has.
      const open = async (login = '') => {
        const [user = '', pass = ''] = login.replace('@', '').split(':');
        const nats = await connect({ servers: [...servers.addresses], user, pass });
        onTestFinished(async () => await nats.close());
        return nats;
      };
      const asNode = await jetstreamManager(await open(node), { checkAPI: false });
      const stream = subjects.stream(CLUSTER, 0);
      expect((await asNode.streams.purge(stream, { seq: 2 })).success).toBe(true);
      const refused = () => [0, 1, 2].flatMap((index) => refusals(servers.folder(index)));
      expect(refused()).toEqual([]);

      const other = await open(operator);
      const asOperator = await jetstreamManager(other, { checkAPI: false });
      const denied = 'Permissions Violation';
      const log = subjects.log(CLUSTER, 0);
      await expect(jetstream(other).publish(log, 'stray')).rejects.toThrow(denied);
      await expect(asOperator.streams.purge(stream)).rejects.toThrow(denied);
      await expect(asNode.streams.info('another')).rejects.toThrow(denied);
      expect(refused()).toHaveLength(3);
    },
    TIMEOUT_MS,
  );
});

/** What a server has refused, as its log says. */
function refusals(folder: string): string[] {
  const log = readFileSync(join(`${folder}.log`), 'utf8');
  return log.split('\n').filter((line) => line.includes('Violation'));
}
