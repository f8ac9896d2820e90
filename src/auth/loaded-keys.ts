import { keysFileWarnings, parseKeysFile, readKeysFile, type Key } from './keys-file.js';

/** The keys as their file has them. */
export class LoadedKeys {
  #keys: readonly Key[] = [];
  #version = '';
  #warnings: readonly string[] = [];

  private constructor(readonly path: string) {}

  /** Reads the file; throws a StartError that says what is wrong with it. */
  static load(path: string): LoadedKeys {
    const keys = new LoadedKeys(path);
    keys.reload();
    return keys;
  }

  get list(): readonly Key[] {
    return this.#keys;
  }

  /** Lines for the log about the file that these keys come from. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** The version of the file that these keys come from. */
  get version(): string {
    return this.#version;
  }

  /** Takes over what the file holds now; throws, and keeps what it had, if that is not right. */
  reload(): void {
    const { text, version, mode } = readKeysFile(this.path);
    this.#keys = parseKeysFile(this.path, text);
    this.#version = version;
    this.#warnings = keysFileWarnings(this.path, mode, this.#keys);
  }
}
