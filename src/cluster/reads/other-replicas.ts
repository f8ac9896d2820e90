import { noPageToken } from '../../core/page-token.js';
import { Hedge } from './hedge.js';
import { isOfReplica, ReplicaFault, type ReplicaReads } from './replica-reads.js';

/** A replica that has not answered within its time is asked last for so long, or until it answers. */
const AVOIDED_MS = 30_000;

/** A read that takes much the same time each time may have another replica asked early. */
export type ReadKind = 'search' | 'get' | 'other';

/** After so long another replica is asked in any case, and one more each time after. */
const SLOW_MS = { search: 1_000, get: 1_000, other: 5_000 };

/** The replicas of a shard that other nodes have. */
export class OtherReplicas {
  readonly #hedges = { search: new Hedge(), get: new Hedge(), other: undefined };
  readonly #avoidedUntilMs = new Map<number, number>();
  #turn = 0;

  /** @param replicas by their places in the list of the replicas of the shard */
  constructor(private readonly replicas: ReadonlyMap<number, ReplicaReads>) {}

  get areThere(): boolean {
    return this.replicas.size > 0;
  }

  /** Reads from one of them: from the next as well where one cannot answer, or is slow. */
  async read<Answer>(
    kind: ReadKind,
    act: (replica: ReplicaReads, number: number) => Promise<Answer>,
  ): Promise<Answer> {
    const hedge = this.#hedges[kind];
    const left = this.#order();
    const asked = new Set<number>();
    const timers: NodeJS.Timeout[] = [];
    let isOver = false;
    try {
      return await new Promise<Answer>((resolve, reject) => {
        let fault: unknown;
        const ask = async (number: number, replica: ReplicaReads): Promise<void> => {
          const begunAtMs = performance.now();
          try {
            resolve(await act(replica, number));
            hedge?.note(performance.now() - begunAtMs);
            this.#avoidedUntilMs.delete(number);
          } catch (error) {
            asked.delete(number);
            if (!isOfReplica(error)) return reject(error as Error);
            fault = error;
            this.#avoid([number]);
            next();
          }
        };
        const next = (): void => {
          const pair = left.shift();
          if (pair === undefined && asked.size === 0) reject((fault ?? noOther()) as Error);
          if (pair === undefined || isOver) return;
          asked.add(pair[0]);
          void ask(...pair);
        };
        next();
        const askAnother = (): void => {
          this.#avoid(asked);
          next();
        };
        const early = (): void => void (hedge?.take() === true && askAnother());
        if (hedge !== undefined) timers.push(setTimeout(early, hedge.begin()));
        timers.push(setInterval(askAnother, SLOW_MS[kind]));
      });
    } finally {
      isOver = true;
      for (const timer of timers) clearTimeout(timer);
    }
  }

  /** Reads the next page of this one: where its pages are means nothing to the others. */
  async readFrom<Answer>(
    number: number,
    act: (replica: ReplicaReads, number: number) => Promise<Answer>,
  ): Promise<Answer> {
    const replica = this.replicas.get(number);
    if (replica === undefined) throw noPageToken();
    return await act(replica, number);
  }

  /** Asks each of them, for one answer. */
  askEach<Answer>(act: (replica: ReplicaReads) => Promise<Answer>): Promise<Answer>[] {
    return [...this.replicas.values()].map(act);
  }

  #avoid(numbers: Iterable<number>): void {
    const untilMs = performance.now() + AVOIDED_MS;
    for (const number of numbers) this.#avoidedUntilMs.set(number, untilMs);
  }

  /** Each is the first in turn, those to avoid are the last. */
  #order(): [number, ReplicaReads][] {
    const all = [...this.replicas];
    const from = all.length === 0 ? 0 : this.#turn % all.length;
    this.#turn += 1;
    const now = performance.now();
    const turned = [...all.slice(from), ...all.slice(0, from)];
    const isAvoided = ([number]: [number, ReplicaReads]): boolean =>
      (this.#avoidedUntilMs.get(number) ?? 0) > now;
    return [...turned.filter((pair) => !isAvoided(pair)), ...turned.filter(isAvoided)];
  }
}

function noOther(): ReplicaFault {
  return new ReplicaFault('there is no other replica');
}
