import type { TestPoint } from '../support/clients.js';

/**
 * What a client knows of its writes. An answered one has happened; one that a crash left without
 * an answer has happened or not, and the ledger learns which from what is there afterwards.
 */
export class Ledger {
  /** Points of answered inserts. */
  readonly stored = new Map<string, TestPoint>();
  /** Points of answered deletes. */
  readonly deleted = new Set<string>();
  /** Points whose delete is under way. */
  readonly #leaving = new Map<string, TestPoint>();
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

  async delete(id: string, send: (id: string) => Promise<void>): Promise<void> {
    const point = this.stored.get(id);
    if (point === undefined) throw new Error(`the point ${id} is not known to be stored`);
    this.stored.delete(id);
    this.#leaving.set(id, point);
    await send(id);
    this.#leaving.delete(id);
    this.deleted.add(id);
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
    for (const [id, point] of this.#leaving) {
      const there = found.get(id);
      if (there === undefined) this.deleted.add(id);
      else if (isSame(there, point)) this.stored.set(id, point);
      else faults.push(`changed by an unanswered delete: ${id}`);
    }
    this.#leaving.clear();
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

function isSame(a: TestPoint, b: TestPoint): boolean {
  return (
    a.contentType === b.contentType &&
    a.content === b.content &&
    a.vector.length === b.vector.length &&
    a.vector.every((value, index) => Object.is(value, b.vector[index]))
  );
}
