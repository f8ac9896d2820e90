export function freePorts(count: number): Promise<readonly number[]>;

export class Servers {
  /**
   * @param program path of nats-server
   * @param folder where the servers keep what they store, and their logs
   * @param options how many, what their configuration has besides, and the command before the one of a
   * server that stores in a folder
   */
  static start(
    program: string,
    folder: string,
    options?: {
      readonly count?: 1 | 3;
      readonly settings?: object;
      readonly wrap?: (folder: string) => Promise<readonly string[]>;
    },
  ): Promise<Servers>;
  readonly addresses: readonly string[];
  readonly monitors: readonly string[];
  readonly names: readonly string[];
  readonly pids: readonly number[];
  run(index: number): void;
  ready(patienceMs?: number): Promise<void>;
  faults(): Promise<readonly (string | undefined)[]>;
  kill(index: number, signal?: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  suspend(index: number): Promise<void>;
  resume(index: number): void;
  folder(index: number): string;
  wipe(index: number): void;
  save(index: number): void;
  restore(index: number): void;
  end(): Promise<void>;
}
