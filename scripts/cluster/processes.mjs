// The processes of a cluster on this machine: none outlives the one that has started them, and the end
// of one ends no other.
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

/** A node ends what is under way first, which takes no longer. */
const GRACE_MS = 20_000;
const LOG_LINES = 10;

export class Processes {
  /** Called with the name of a process that ends by itself, how it ended, and its log. */
  onEnd = () => undefined;
  #all = [];
  #isEnding = false;

  constructor() {
    process.once('exit', () => this.#running.forEach(({ child }) => child.kill('SIGKILL')));
  }

  get count() {
    return this.#running.length;
  }

  get #running() {
    return this.#all.filter(({ hasEnded }) => !hasEnded);
  }

  /** Starts those again that have ended, as they were started; returns their names and process ids. */
  startEnded() {
    const ended = this.#all.filter(({ hasEnded }) => hasEnded);
    if (this.#isEnding) return [];
    this.#all = this.#running;
    return ended.map(({ name, startAgain }) => ({ name, pid: startAgain() }));
  }

  /** Starts a process that writes to a log; returns its process id. */
  start(name, program, args, { log, env = process.env }) {
    const output = openSync(log, 'a');
    // In a group of its own: Ctrl-C reaches this process alone, which ends the others in order.
    const child = spawn(program, args, { env, stdio: ['ignore', output, output], detached: true });
    closeSync(output);
    const startAgain = () => this.start(name, program, args, { log, env });
    const one = { name, log, child, hasEnded: false, startAgain };
    one.end = new Promise((resolve) => {
      const end = (how) => {
        if (one.hasEnded) return;
        one.hasEnded = true;
        one.how = how;
        resolve();
        if (!this.#isEnding) this.onEnd(name, how, log);
      };
      child.once('error', ({ message }) => end(message));
      child.once('exit', (code, signal) => end(signal ?? `exit code ${code}`));
    });
    this.#all.push(one);
    return child.pid;
  }

  /** Calls `look` until it returns no fault; fails once a process has ended. */
  async untilReady(look, patienceMs) {
    const giveUpAtMs = performance.now() + patienceMs;
    for (;;) {
      const fault = await look();
      if (fault === undefined) return;
      if (this.#isEnding) throw new Error('it was stopped');
      const ended = this.#all.find(({ hasEnded }) => hasEnded);
      if (ended !== undefined)
        throw new Error(`${ended.name} has ended (${ended.how}):\n${endOf(ended.log)}`);
      if (performance.now() > giveUpAtMs) throw new Error(fault);
      await sleep(100);
    }
  }

  /** Ends all, in the order of the beginnings of their names. */
  async endAll(...order) {
    this.#isEnding = true;
    for (const beginning of order) {
      const these = this.#running.filter(({ name }) => name.startsWith(beginning));
      for (const { child } of these) child.kill('SIGTERM');
      const late = setTimeout(() => these.forEach(({ child }) => child.kill('SIGKILL')), GRACE_MS);
      await Promise.all(these.map(({ end }) => end));
      clearTimeout(late);
    }
  }
}

function endOf(log) {
  return readFileSync(log, 'utf8').trimEnd().split('\n').slice(-LOG_LINES).join('\n');
}
