import { describe } from 'vitest';
import { TestCluster } from '../support/cluster.js';
import { canMount } from '../support/small-disk.js';
import { FULL_DISKS } from './faults/full-disks.js';
import { LACKS_TOOLS, testUnderLoad } from './faults/under-load.js';

/** A node reports less than 256 MiB as a full disk. */
const DISKS = { node: 320 << 20, server: 256 << 20 };
/** Small, so that nodes begin files of the log on full disks as well. */
const SETTINGS = { SEGMENT_BYTES: String(128 << 10) };

/** What a node says once where compaction finds no space. */
const EXPECTED_ERRORS = ['no snapshot, or no space given back: trying again'];

const NEEDS = '(needs nats-server, porcupine and Linux that lets its users mount a disk)';

describe.skipIf(LACKS_TOOLS || !canMount())(`a cluster on small disks under load ${NEEDS}`, () => {
  testUnderLoad(
    FULL_DISKS,
    async (shards) => await TestCluster.start(SETTINGS, { shards, disks: DISKS }),
    EXPECTED_ERRORS,
  );
});
