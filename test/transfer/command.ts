import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { makeTemporaryFolder } from '../support/folders.js';
import type { TestServer } from '../support/server.js';
import { Vectord, type Exit } from '../support/vectord.js';

export interface Ended extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}

/** Begins a command on a running service, over gRPC unless told otherwise. */
export function begin(
  server: TestServer,
  args: readonly string[],
  url = `grpc://${server.grpc}`,
): Vectord {
  return new Vectord({ VECTORD_KEY: server.keys.readwrite }, [...args, '--url', url]);
}

export async function endOf(command: Vectord): Promise<Ended> {
  const exit = await command.exit;
  return { ...exit, stdout: command.stdout, stderr: command.stderr };
}

/** Runs a command on a running service to its end. */
export async function run(server: TestServer, ...args: string[]): Promise<Ended> {
  return await endOf(begin(server, args));
}

/** A file in a folder of its own. */
export function fileOf(name: string, content: string | Uint8Array = ''): string {
  const path = join(makeTemporaryFolder(), name);
  if (content.length > 0) writeFileSync(path, content);
  return path;
}

/** A .npy file of version 1 with what its header says. */
export function npy(type: string, shape: string, data: Uint8Array, order = 'False'): Buffer {
  const text = `{'descr': '${type}', 'fortran_order': ${order}, 'shape': ${shape}, }`;
  const header = Buffer.from(`${text.padEnd(117)}\n`);
  const start = Buffer.from('\x93NUMPY\x01\x00\x00\x00', 'latin1');
  start.writeUInt16LE(header.length, 8);
  return Buffer.concat([start, header, data]);
}
