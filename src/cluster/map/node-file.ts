import { existsSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { v4 } from 'uuid';
import { nodeFile, syncFolder, WHO_NEEDS_WHAT, writeDurably } from '../../config/data-folder.js';
import { messageOf, StartError } from '../../core/start-error.js';

/** What a folder with points has. */
const STORE_FILE = 'MANIFEST';

interface Content {
  readonly cluster: string;
  readonly node: string;
  /** The id of the store that is the replica, once there is one. */
  readonly store?: string | undefined;
  /** The replica's log is lost, or given up: it has no vote until it has another one. */
  readonly needsLog?: boolean;
  /** How many logs each replica of the shard has lost, as far as this node has heard. */
  readonly incarnations?: readonly number[];
}

/**
 * What a node must not forget, in its data folder: who it is, which store its replica is, and which
 * replicas have lost their logs. A node with a fresh folder is another node.
 */
export class NodeFile {
  private constructor(
    private readonly path: string,
    private content: Content,
  ) {}

  /** That of a node of this cluster, which is made if it is missing. Throws a StartError. */
  static open(dataPath: string, cluster: string): NodeFile {
    if (isStore(dataPath)) {
      throw new StartError(
        `the data folder ${dataPath} (DATA_PATH) holds the points of a single server: start the node on ` +
          'another folder, and bring the points there by `vectord export` and `vectord import`',
      );
    }
    const path = nodeFile(dataPath);
    if (!existsSync(path)) write(path, { cluster, node: v4() });
    const content = read(path);
    if (content.cluster === cluster) return new NodeFile(path, content);
    throw new StartError(
      `the data folder ${dataPath} (DATA_PATH) is that of a node of the cluster ${content.cluster}, ` +
        `expected ${cluster} (CLUSTER_NAME): change the one that is wrong`,
    );
  }

  get node(): string {
    return this.content.node;
  }

  get needsLog(): boolean {
    return this.content.needsLog === true;
  }

  /** Whether the node has, or had, a replica that may have confirmed something. */
  get hasStore(): boolean {
    return this.content.store !== undefined;
  }

  get incarnations(): readonly number[] {
    return this.content.incarnations ?? [];
  }

  /** Notes that the node takes the place of one that is lost, and needs the log of another. */
  needLog(): void {
    if (!this.needsLog) this.#change({ needsLog: true });
  }

  /** Notes how many logs a replica has lost, unless it was more already. */
  raise(replica: number, incarnation: number): void {
    if (incarnation <= (this.incarnations[replica] ?? 0)) return;
    this.#change({ incarnations: this.#with(replica, incarnation) });
  }

  /** Gives up the log of this node's replica: it counts no more, and is replaced by that of another. */
  loseLog(replica: number): void {
    if (this.needsLog) return;
    const incarnation = (this.incarnations[replica] ?? 0) + 1;
    this.#change({ needsLog: true, incarnations: this.#with(replica, incarnation) });
  }

  /** Has the replica be this store, which has the log of another. */
  findLog(storeId: Uint8Array | undefined): void {
    this.#change({ needsLog: false, store: storeId && textOf(storeId) });
  }

  /**
   * Notes which store the replica is, before it confirms its first message: an empty store has no
   * lasting id. Another one in its place would count in majorities without what the node has confirmed.
   */
  claim(storeId: Uint8Array): void {
    if (!this.hasStore) this.#change({ store: textOf(storeId) });
  }

  /** Throws a StartError where the store in the folder of the replica is not the one that was noted. */
  check(folder: string, storeId: Uint8Array): void {
    if (this.hasStore && this.content.store !== textOf(storeId)) {
      throw new StartError(
        `the folder ${folder} is not the one of this node's replica: put that back as it was, or remove ` +
          'the folder, then the node gets the points from the others',
      );
    }
  }

  #with(replica: number, incarnation: number): number[] {
    const known = this.incarnations;
    const length = Math.max(known.length, replica + 1);
    return Array.from({ length }, (_, at) => (at === replica ? incarnation : (known[at] ?? 0)));
  }

  #change(changed: Partial<Content>): void {
    const content = { ...this.content, ...changed };
    write(this.path, content);
    this.content = content;
  }
}

/** Whether a folder holds points. Throws a StartError where the system does not tell: they may be there. */
export function isStore(folder: string): boolean {
  try {
    return statSync(join(folder, STORE_FILE), { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw new StartError(
      `whether the folder ${folder} holds points cannot be told: ${messageOf(error)}\n${WHO_NEEDS_WHAT}`,
    );
  }
}

function textOf(storeId: Uint8Array): string {
  return Buffer.from(storeId).toString('hex');
}

/** Replaces the file, or leaves it as it was. */
function write(path: string, content: Content): void {
  const unfinished = `${path}.new`;
  rmSync(unfinished, { force: true });
  writeDurably(unfinished, `${JSON.stringify(content)}\n`);
  renameSync(unfinished, path);
  syncFolder(dirname(path));
}

function read(path: string): Content {
  try {
    const content = JSON.parse(readFileSync(path, 'utf8')) as Content;
    if (typeof content.cluster === 'string' && typeof content.node === 'string') return content;
    throw new Error('it names no cluster and no node');
  } catch (error) {
    throw new StartError(
      `the file ${path} of the node cannot be read: ${messageOf(error)}. If it is damaged, start the ` +
        'node on a new data folder (DATA_PATH) with CLUSTER_REPLACES set to its id',
    );
  }
}
