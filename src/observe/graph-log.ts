import { REAL_CLOCK, type Clock } from '../core/clock.js';
import type { Logger } from './logger.js';
import { similarityName } from '../core/model.js';
import type { Engine, EngineStatus } from '../engine/native.js';

export const CHECK_INTERVAL_MS = 1_000;
/** A long build says this often how far it is. */
export const PROGRESS_INTERVAL_MS = 10_000;

type GraphStatus = EngineStatus['graphs'][number];

interface Parameters {
  readonly hnswM: number;
  readonly hnswEfConstruction: number;
}

/**
 * Tells the log what the engine's threads do in the background: which graphs are built and with
 * which parameters, how far a long build is, when it is done, and when a graph had to be given up;
 * and what is wrong with the data folder.
 */
export class GraphLog {
  readonly #engine: Pick<Engine, 'status'>;
  readonly #parameters: Parameters;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #stopChecking: () => void;
  /** When each graph that is being built was last written about. */
  readonly #toldAtMs = new Map<number, number>();
  readonly #built = new Set<number>();
  /** How often each graph that has failed had done so at the last check. */
  readonly #failures = new Map<number, number>();
  readonly #faults = new Map<string, string | undefined>();
  readonly #toldDamage = new Set<string>();

  constructor(
    engine: Pick<Engine, 'status'>,
    parameters: Parameters,
    logger: Logger,
    clock: Clock = REAL_CLOCK,
  ) {
    this.#engine = engine;
    this.#parameters = parameters;
    this.#logger = logger;
    this.#clock = clock;
    this.#stopChecking = clock.every(CHECK_INTERVAL_MS, () => this.#check());
  }

  close(): void {
    this.#stopChecking();
  }

  #check(): void {
    const { graphs, failure, damage, upkeepFailure } = this.#engine.status();
    this.#tellFault('writes are refused until a restart', failure);
    for (const place of damage?.places ?? []) this.#tellDamage(place);
    this.#tellFault('no snapshot, or no space given back: trying again', upkeepFailure);
    for (const metric of this.#toldAtMs.keys()) {
      if (!graphs.some((graph) => graph.metric === metric)) this.#tellGivenBack(metric);
    }
    for (const graph of graphs) {
      this.#tellFailure(graph);
      // A graph that is kept warm is there before the first point: there is nothing to build yet.
      if (graph.exists && graph.slots > 0 && !this.#built.has(graph.metric)) this.#tell(graph);
    }
  }

  #tellDamage(fault: string): void {
    if (this.#toldDamage.has(fault)) return;
    this.#toldDamage.add(fault);
    this.#logger.error({ fault }, 'a stored record is damaged: `vectord check` tells of all');
  }

  /** Each failure of a graph, after which it is built anew. */
  #tellFailure({ metric, failures, failure }: GraphStatus): void {
    if (failures === (this.#failures.get(metric) ?? 0)) return;
    this.#logger.error(
      { graph: similarityName(metric), failures, failure },
      'a graph was given up: searches scan all points until it is built anew',
    );
    this.#failures.set(metric, failures);
    this.#toldAtMs.delete(metric);
    this.#built.delete(metric);
  }

  #tellGivenBack(metric: number): void {
    const graph = similarityName(metric);
    this.#logger.info(
      { graph },
      'a graph without searches was given back: the next begins it anew',
    );
    this.#toldAtMs.delete(metric);
    this.#built.delete(metric);
  }

  /** Each fault once, and again when it has become another. */
  #tellFault(what: string, fault: string | undefined): void {
    if (fault !== undefined && this.#faults.get(what) !== fault)
      this.#logger.error({ fault }, what);
    this.#faults.set(what, fault);
  }

  #tell({ metric, linked, slots, caughtUp }: GraphStatus): void {
    const { hnswM, hnswEfConstruction } = this.#parameters;
    const graph = similarityName(metric);
    const toldAtMs = this.#toldAtMs.get(metric);
    const nowMs = this.#clock.nowMs();
    if (toldAtMs === undefined) {
      this.#logger.info({ graph, points: slots, hnswM, hnswEfConstruction }, 'building a graph');
      this.#toldAtMs.set(metric, nowMs);
    }
    if (caughtUp) {
      this.#logger.info({ graph, points: slots }, 'the graph is built');
      this.#built.add(metric);
    } else if (toldAtMs !== undefined && nowMs - toldAtMs >= PROGRESS_INTERVAL_MS) {
      this.#logger.info({ graph, linked, points: slots }, 'building a graph');
      this.#toldAtMs.set(metric, nowMs);
    }
  }
}
