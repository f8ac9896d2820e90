import { timingSafeEqual } from 'node:crypto';
import {
  keysFileWarnings,
  parseKeysFile,
  readKeysFile,
  sha256,
  type Key,
  type KeyHolder,
} from './keys-file.js';

export type { KeyHolder, Role } from './keys-file.js';

/** A key that was presented and is right. */
interface ProvenKey {
  readonly text: Buffer;
  /** Where another one of this length is put for the comparison. */
  readonly other: Buffer;
  readonly holder: KeyHolder;
}

/** The keys that open the service, as its keys file has them. */
export class Keys {
  #keys: readonly Key[] = [];
  /** Those that were presented: to compare them again takes a tenth of the time of a hash. */
  #proven: readonly ProvenKey[] = [];
  #version = '';
  #warnings: readonly string[] = [];

  private constructor(readonly path: string) {}

  /** The keys in the file; throws a StartError that says what is wrong with it. */
  static load(path: string): Keys {
    const keys = new Keys(path);
    keys.reload();
    return keys;
  }

  get count(): number {
    return this.#keys.length;
  }

  /** Whose key this is. The time it takes tells nothing of how much of a key was right. */
  lookup(presented: string): KeyHolder | undefined {
    let holder: KeyHolder | undefined;
    for (const { text, other, holder: found } of this.#proven) {
      if (presented.length === text.length) {
        // Headers, in which keys come, are Latin-1.
        other.write(presented, 'latin1');
        if (timingSafeEqual(text, other)) holder = found;
      }
    }
    return holder ?? this.#prove(presented);
  }

  #prove(presented: string): KeyHolder | undefined {
    const digest = sha256(presented);
    let holder: KeyHolder | undefined;
    for (const key of this.#keys) {
      if (timingSafeEqual(key.sha256, digest)) holder = key.holder;
    }
    if (holder !== undefined) {
      const text = Buffer.from(presented, 'latin1');
      this.#proven = [...this.#proven, { text, other: Buffer.alloc(text.length), holder }];
    }
    return holder;
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
    this.#proven = [];
    this.#version = version;
    this.#warnings = keysFileWarnings(this.path, mode, this.#keys);
  }
}
