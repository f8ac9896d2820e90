import type { WriteStream } from 'node:tty';

/** Where blocks of lines are shown, one after the other. */
export interface Display {
  show(lines: readonly string[]): void;
  /** Says why there is nothing new to show. */
  note(line: string): void;
  close(): void;
}

// Sequences of ECMA-48 and xterm, which every terminal of today knows.
const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const TO_START = '\x1b[H';
const CLEAR_LINE = '\x1b[K';
const CLEAR_BELOW = '\x1b[J';
const BOLD = '\x1b[1m';
const PLAIN = '\x1b[0m';

/** A terminal: each block takes the place of the one before, on a screen that goes at the end. */
export class Screen implements Display {
  #lines: readonly string[] = [];
  #note: string | undefined;

  constructor(private readonly terminal: WriteStream) {
    terminal.write(ENTER);
    terminal.on('resize', this.#draw);
    // However the process ends, its terminal is as before.
    process.on('exit', this.#leave);
    process.on('SIGTSTP', this.#suspend);
    process.on('SIGCONT', this.#resume);
  }

  show(lines: readonly string[]): void {
    this.#lines = lines;
    this.#note = undefined;
    this.#draw();
  }

  note(line: string): void {
    this.#note = line;
    this.#draw();
  }

  close(): void {
    this.terminal.off('resize', this.#draw);
    process.off('exit', this.#leave);
    process.off('SIGTSTP', this.#suspend);
    process.off('SIGCONT', this.#resume);
    this.#leave();
  }

  readonly #draw = (): void => {
    const { columns, rows } = sizeOf(this.terminal);
    const notes =
      this.#note === undefined ? [] : [`${BOLD}${this.#note.slice(0, columns)}${PLAIN}`];
    // What is longer than the terminal is wide, or beyond its end, would scroll it.
    const shown = this.#lines.map((line) => line.slice(0, columns));
    const lines = [...notes, ...shown].slice(0, rows - 1);
    const text = lines.map((line) => `${line}${CLEAR_LINE}\n`).join('');
    this.terminal.write(`${TO_START}${text}${CLEAR_BELOW}`);
  };

  readonly #leave = (): void => void this.terminal.write(LEAVE);

  /** Ctrl-Z: the shell gets its own screen back meanwhile. */
  readonly #suspend = (): void => {
    this.#leave();
    process.kill(process.pid, 'SIGSTOP');
  };

  readonly #resume = (): void => {
    this.terminal.write(ENTER);
    this.#draw();
  };
}

/** Some terminals do not know their size: that is 80 by 24 then, as it has always been. */
function sizeOf({ columns, rows }: WriteStream): { columns: number; rows: number } {
  return columns > 0 && rows > 0 ? { columns, rows } : { columns: 80, rows: 24 };
}

/** A file or a pipe: plain text, and notes on the standard error, the same one once. */
export class Lines implements Display {
  #note: string | undefined;

  show(lines: readonly string[]): void {
    this.#note = undefined;
    process.stdout.write(`${lines.join('\n')}\n\n`);
  }

  note(line: string): void {
    if (line === this.#note) return;
    this.#note = line;
    process.stderr.write(`${line}\n`);
  }

  close(): void {
    // Nothing is left behind.
  }
}
