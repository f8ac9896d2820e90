import { describe } from 'vitest';
import { TestCluster } from '../support/cluster.js';
import { FAULTS } from './faults/faults.js';
import { LACKS_TOOLS, testUnderLoad } from './faults/under-load.js';

describe.skipIf(LACKS_TOOLS)('a cluster under load (needs nats-server and porcupine)', () => {
  testUnderLoad(
    FAULTS,
    async (shards) => await TestCluster.start({}, { links: true, shards }),
    // Of a bit that has flipped, if a read meets it before the node looks through its log.
    ['a stored record is damaged'],
  );
});
