import { isDeepStrictEqual } from 'node:util';
import type { TestPoint } from '../support/clients.js';

/** What a write makes of the point with an id: another point, or none. */
export type Changes = ReadonlyMap<string, TestPoint | undefined>;

/** A write to points whose ids are known: what was there before it, and is there after it. */
interface Change {
  readonly before: Changes;
  readonly after: Changes;
}

/**
 * What a client knows of its writes. An answered one has happened; one that a crash left without
 * an answer has happened or not, and the ledger learns which from what is there afterwards.
 */
export class Ledger {
  /** Points of answered inserts. */
  readonly stored = new Map<string, TestPoint>();
  /** Points that are not there, since their deletes were answered or have happened. */
  readonly deleted = new Set<string>();
  /** The changes that are under way. Their ids are not among those of `stored` and `deleted`. */
  readonly #changing = new Set<Change>();
  /** The inserts that are under way, each of one point or of a batch. */
  readonly #coming = new Set<readonly TestPoint[]>();

  async insert(
    points: readonly TestPoint[],
    send: (points: readonly TestPoint[]) => Promise<readonly string[]>,
  ): Promise<void> {
    this.#coming.add(points);
    const ids = await send(points);
    this.#coming.delete(points);
    if (ids.length !== points.length) {
      throw new Error(`${points.length} points were given ${ids.length} ids`);
    }
    points.forEach((point, index) => this.stored.set(ids[index] ?? '', point));
  }

  /** Deletes, replaces, updates or stores points, all of them or none. */
  async change(after: Changes, send: () => Promise<void>): Promise<void> {
    const before = new Map([...after.keys()].map((id) => [id, this.stored.get(id)]));
    const change = { before, after };
    this.#changing.add(change);
    for (const id of after.keys()) {
      this.stored.delete(id);
      this.deleted.delete(id);
    }
    await send();
    this.#changing.delete(change);
    this.#enter(after);
  }

  async delete(id: string, send: (id: string) => Promise<void>): Promise<void> {
    if (!this.stored.has(id)) throw new Error(`the point ${id} is not known to be stored`);
    await this.change(new Map([[id, undefined]]), () => send(id));
  }

  /**
   * The ids of the stored points that pass; undefined while it is open which these are, as a change
   * is under way of a point that passes before it or after it.
   */
  passing(passes: (id: string, point: TestPoint) => boolean): string[] | undefined {
    const touches = (points: Changes): boolean =>
      [...points].some(([id, point]) => point !== undefined && passes(id, point));
    const changes = [...this.#changing];
    if (changes.some(({ before, after }) => touches(before) || touches(after))) return undefined;
    return [...this.stored].filter(([id, point]) => passes(id, point)).map(([id]) => id);
  }

  #enter(points: Changes): void {
    for (const [id, point] of points) {
      if (point === undefined) this.deleted.add(id);
      else {
        this.stored.set(id, point);
        this.deleted.delete(id);
      }
    }
  }

  /**
   * Compares with everything that is found after a crash, and settles what was open. Returns what
   * is wrong: points that are lost, changed or back again, halves of batches, and strangers.
   */
  settle(found: ReadonlyMap<string, TestPoint>): string[] {
    const faults: string[] = [];
    for (const [id, point] of this.stored) {
      const there = found.get(id);
      if (there === undefined) faults.push(`lost: ${id}, ${point.content.slice(0, 40)}`);
      else if (!isSame(there, point)) faults.push(`changed: ${id}`);
    }
    for (const { before, after } of this.#changing) {
      const outcome = [after, before].find((points) => isThere(points, found));
      if (outcome === undefined) {
        faults.push(`in part or changed by an unanswered write: ${[...after.keys()].join(', ')}`);
      } else this.#enter(outcome);
    }
    this.#changing.clear();
    for (const id of this.deleted) if (found.has(id)) faults.push(`back again: ${id}`);
    return [...faults, ...this.#settleInserts(found)];
  }

  /** An unanswered insert is known by the contents of its points, which are all different. */
  #settleInserts(found: ReadonlyMap<string, TestPoint>): string[] {
    const faults: string[] = [];
    const strangers = new Map<string, string>();
    for (const [id, { content }] of found) {
      if (this.stored.has(id) || this.deleted.has(id)) continue;
      if (strangers.has(content)) faults.push(`twice: ${content.slice(0, 40)}`);
      strangers.set(content, id);
    }
    for (const points of this.#coming) {
      let there = 0;
      for (const point of points) {
        const id = strangers.get(point.content);
        const stranger = id === undefined ? undefined : found.get(id);
        if (id === undefined || stranger === undefined) continue;
        if (!isSame(stranger, point)) faults.push(`changed by an unanswered insert: ${id}`);
        this.stored.set(id, point);
        strangers.delete(point.content);
        there += 1;
      }
      if (there !== 0 && there !== points.length) {
        faults.push(`in part: ${there} of ${points.length} points of one batch`);
      }
    }
    this.#coming.clear();
    for (const id of strangers.values()) faults.push(`never sent: ${id}`);
    return faults;
  }
}

/** Whether exactly these points are there, or are not. */
function isThere(points: Changes, found: ReadonlyMap<string, TestPoint>): boolean {
  return [...points].every(([id, point]) => isSame(found.get(id), point));
}

/** Whether two points are the same in every part, or both are missing. */
export function isSame(a: TestPoint | undefined, b: TestPoint | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    isDeepStrictEqual(a.metadata ?? null, b.metadata ?? null) &&
    a.contentType === b.contentType &&
    a.content === b.content &&
    a.vector.length === b.vector.length &&
    a.vector.every((value, index) => Object.is(value, b.vector[index]))
  );
}
