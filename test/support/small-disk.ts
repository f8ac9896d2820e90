import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { availableBytes } from '../../src/observe/folder-size.js';
import { makeTemporaryFolder } from './folders.js';

const FILLER = 'filler';
const PART = Buffer.alloc(1 << 20, 1);

/**
 * A disk of a few megabytes, a file system in memory, at a folder where only those see it who are
 * started with its `wrapper`. It outlives them, until it is released.
 */
export class SmallDisk {
  /** The command before those that shall see the disk. */
  readonly wrapper: readonly string[];

  private constructor(
    private readonly folder: string,
    private readonly holder: ChildProcess,
  ) {
    const inside = ['--user', '--mount', '--preserve-credentials'];
    this.wrapper = ['nsenter', '--target', String(holder.pid), ...inside, '--'];
  }

  static async mount(folder: string, bytes: number): Promise<SmallDisk> {
    // It lasts as long as its input: no longer than this process.
    const mount = `mount -t tmpfs -o size=${bytes} vectord "$0" && echo mounted && exec cat`;
    const [program, ...args] = inNamespace(mount, folder);
    const holder = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const ended = once(holder, 'exit').then(() => {
      throw new Error(`no disk at ${folder}`);
    });
    ended.catch(() => {});
    await Promise.race([once(holder.stdout, 'data'), ended]);
    return new SmallDisk(folder, holder);
  }

  /** The path by which this process sees a file of the disk. */
  path(name: string): string {
    return join(`/proc/${this.holder.pid}/root`, this.folder, name);
  }

  /** Fills it up with a file, to the last byte or to what is to be left. */
  async fill(leftBytes = 0): Promise<void> {
    const filler = await open(this.path(FILLER), 'a');
    try {
      for (;;) {
        const excess = (await availableBytes(this.path(''))) - leftBytes;
        if (excess <= 0) return;
        await filler.write(PART, 0, Math.min(excess, PART.length));
      }
    } catch (error) {
      // Another one has taken the rest.
      if (!String(error).includes('ENOSPC')) throw error;
    } finally {
      await filler.close();
    }
  }

  /** Gives back what it was filled with. */
  async empty(): Promise<void> {
    await rm(this.path(FILLER));
  }

  release(): void {
    this.holder.kill('SIGKILL');
  }
}

/** Not every system lets its users mount anything. */
export function canMount(): boolean {
  if (process.platform !== 'linux' || spawnSync('nsenter', ['--version']).status !== 0)
    return false;
  const folder = makeTemporaryFolder();
  const [program, ...args] = inNamespace('mount -t tmpfs -o size=4096 vectord "$0"', folder);
  return spawnSync(program, args).status === 0;
}

function inNamespace(script: string, folder: string): [string, ...string[]] {
  return ['unshare', '--map-root-user', '--mount', 'sh', '-c', script, folder];
}
