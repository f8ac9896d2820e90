import { open, type FileHandle } from 'node:fs/promises';

/** Lines that are written together. */
const CHUNK_CHARACTERS = 256 * 1024;

/** The lines beside a file of vectors, one for each. */
export class TextsFile {
  #text = '';

  private constructor(private readonly file: FileHandle) {}

  static async create(path: string): Promise<TextsFile> {
    return new TextsFile(await open(path, 'wx'));
  }

  async add(line: string): Promise<void> {
    this.#text += line;
    if (this.#text.length >= CHUNK_CHARACTERS) await this.#write();
  }

  /** Writes what is left, and is done once all is on the disk. */
  async finish(): Promise<void> {
    await this.#write();
    await this.file.sync();
  }

  async close(): Promise<void> {
    await this.file.close();
  }

  async #write(): Promise<void> {
    await this.file.appendFile(this.#text);
    this.#text = '';
  }
}
