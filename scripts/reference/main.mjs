// Writes docs/HTTP.md and docs/GRPC.md from the contracts: docs/openapi.yaml, and the descriptors of
// proto/ with the comments in it.
import { readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { parse } from 'yaml';
import { grpcReference } from './grpc.mjs';
import { httpReference } from './http.mjs';

/** `descriptors` is a google.protobuf.FileDescriptorSet in JSON. */
export async function writeReferences(root, descriptors) {
  const document = parse(readFileSync(`${root}docs/openapi.yaml`, 'utf8'));
  await writePage(`${root}docs/HTTP.md`, httpReference(document));
  await writePage(`${root}docs/GRPC.md`, grpcReference(descriptors));
}

async function writePage(path, text) {
  const options = await resolveConfig(path);
  writeFileSync(path, await format(text, { ...options, filepath: path }));
}
