import { randomInt } from 'node:crypto';
import { renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { syncFolder } from '../../config/data-folder.js';
import { messageOf, StartError } from '../../core/start-error.js';
import { adoptReplica } from '../../engine/folder.js';
import type { StreamPosition } from '../../engine/native.js';
import type { Logger } from '../../observe/logger.js';
import type { Nats } from '../nats/nats.js';
import type { NodeFile } from '../map/node-file.js';
import type { Questions } from '../voting/questions.js';
import type { ReplicaPlace } from './reporter.js';
import { CopyFolder } from './copy-folder.js';
import { SeedCopy } from './seed-copy.js';
import { subjects } from '../nats/subjects.js';

const PAUSE_MS = 1_000;
/** After a copy that has failed the next one is begun later, up to so long. */
const LONGEST_PAUSE_MS = 60_000;
const WAITING_LINE_MS = 5_000;

/** A new folder takes one of so many numbers, as another one may be started for the same replica. */
const APART = 65_536;

const NOTHING = new Uint8Array();

/**
 * Replaces the lost log of a replica by a copy of another replica's log.
 *
 * What the lost log has confirmed counts no more. So the others first note durably that it is lost, and
 * from then on send with each confirmation how many logs each replica has lost: crash vectors, see
 * docs/decisions/0039-a-lost-log.md. Enough of them answer to include a member of each majority that the
 * lost log was in. All of these have to come to the furthest of their positions with the same history;
 * then any of them gives the copy.
 */
export class Seeding {
  /** How many copies were begun. */
  #tries = 0;
  /** The number under which the log is said to be lost. */
  #said: number | undefined;
  #endSaying: (() => Promise<void>) | undefined;
  #fault: string | undefined;

  /**
   * @param others questions to enough others to include a member of each majority
   * @param folder the folder of the replica
   */
  constructor(
    private readonly nats: Nats,
    private readonly others: Questions,
    private readonly place: ReplicaPlace,
    private readonly file: NodeFile,
    private readonly folder: string,
    private readonly logger: Logger,
  ) {}

  /** Why the last try has failed; undefined while a copy is fetched. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /**
   * Resolves once the replica has a log; tries for as long as that takes. Rejects with a StartError where
   * another node has the place of this one.
   */
  async run(): Promise<void> {
    this.logger.warn(
      { folder: this.folder },
      'this node needs the points of another node: it opens once it has them',
    );
    let toldAtMs = -Infinity;
    for (;;) {
      try {
        await this.#run();
        return this.#fallSilent();
      } catch (error) {
        if (error instanceof StartError) throw error;
        this.#fault = messageOf(error);
        if (performance.now() - toldAtMs >= WAITING_LINE_MS) {
          this.logger.warn({ reason: this.#fault }, 'this node has no points yet: trying again');
          toldAtMs = performance.now();
        }
      }
      await sleep(Math.min(PAUSE_MS * 2 ** this.#tries, LONGEST_PAUSE_MS));
    }
  }

  async #run(): Promise<void> {
    const others = await this.#tellLost();
    const position = [...others.values()].reduce((most, other) =>
      other.sequence > most.sequence ? other : most,
    );
    if (position.sequence === 0) return this.#begin(undefined);
    const sources = await this.others
      .reached(position)
      .catch(
        because(
          `too few other nodes have come to message ${position.sequence} with the same history: see ` +
            '`vectord cluster status`, and their logs',
        ),
      );
    this.#fault = undefined;
    const copies = `${this.folder}.copy-`;
    CopyFolder.removeAll(copies, this.logger);
    const copy = CopyFolder.make(copies, this.logger);
    const { cluster, shard } = this.place;
    // If a copy fails, the next one is asked.
    const source = sources[this.#tries % sources.length] ?? 0;
    this.#tries += 1;
    const subject = subjects.seeds(cluster, shard, source);
    await new SeedCopy(this.nats, subject, this.#copyName, this.logger).fetch(copy.replica);
    const { storeId, points } = await adoptReplica(copy.replica, () => undefined);
    this.#begin(storeId, copy.replica);
    copy.remove();
    this.logger.info({ points }, 'this node has the points of another node');
  }

  /** A copy that was made for a log that this replica has lost since must not be taken for the next. */
  get #copyName(): string {
    return `${this.file.node}-${this.file.incarnations[this.place.replica] ?? 0}`;
  }

  /** How far other replicas are, by replica, which know now that the log of this one is lost. */
  async #tellLost(): Promise<Map<number, StreamPosition>> {
    const { replica } = this.place;
    for (;;) {
      const incarnation = this.file.incarnations[replica] ?? 0;
      if (incarnation > 0) this.#say(incarnation);
      const others = await this.others
        .tellLost({ replica, incarnation })
        .catch(
          because(
            'too few other nodes answer: start them; if most have lost their points, docs/CLUSTER.md says ' +
              'how to make a new cluster of what is left',
          ),
        );
      const { incarnations } = this.others;
      const known = incarnations[replica] ?? 0;
      // A fresh folder lacks what the lost one had noted of the others.
      incarnations.forEach((lost, other) => {
        if (other !== replica) this.file.raise(other, lost);
      });
      if (incarnation > 0 && known > incarnation) throw replaced();
      if (incarnation > 0) return others;
      // The folder is fresh. One that had this place before, and is still to hear that it was replaced,
      // may take the next number.
      this.file.raise(replica, known + 2 + randomInt(APART));
    }
  }

  /** Says that the log is lost to who has been told and asks back, for as long as it is. */
  #say(incarnation: number): void {
    if (this.#said === incarnation) return;
    this.#fallSilent();
    this.#said = incarnation;
    const { cluster, shard, replica } = this.place;
    const subject = subjects.lost(cluster, shard, { replica, incarnation });
    this.#endSaying = this.nats.subscribe(subject, (_, answer) => answer(NOTHING));
  }

  #fallSilent(): void {
    // Without a connection it ends with that.
    void this.#endSaying?.().catch(() => undefined);
  }

  /** Puts the store into the place of the lost one, or nothing where there is nothing yet. */
  #begin(storeId: Uint8Array | undefined, copied?: string): void {
    rmSync(this.folder, { recursive: true, force: true });
    if (copied !== undefined) renameSync(copied, this.folder);
    syncFolder(dirname(this.folder));
    this.file.findLog(storeId);
  }
}

/** What to do about a rejection, in place of what is told to clients. */
function because(reason: string): (cause: unknown) => never {
  return (cause) => {
    throw new Error(reason, { cause });
  };
}

function replaced(): StartError {
  return new StartError(
    'another node has the place of this one in the cluster: stop this one for good, or start it on a ' +
      'new data folder (DATA_PATH) with CLUSTER_REPLACES set to the id of a node that is lost',
  );
}
