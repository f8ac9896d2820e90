/** Lets so many act at one time; the others wait, in their order. */
export class Turns {
  readonly #waiting: (() => void)[] = [];

  constructor(private free: number) {}

  async take<Answer>(act: () => Promise<Answer>): Promise<Answer> {
    if (this.free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.free -= 1;
    try {
      return await act();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.free += 1;
      else next();
    }
  }
}
