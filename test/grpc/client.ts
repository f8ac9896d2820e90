import { Client, credentials, Metadata, status, type ServiceError } from '@grpc/grpc-js';
import { createChannel, createClient, Metadata as NiceMetadata } from 'nice-grpc';
import type { Client as NiceClient } from 'nice-grpc';
import { VectorDBDefinition } from '../../src/gen/vectordb/vectordb.js';

export type VectorDbClient = NiceClient<typeof VectorDBDefinition>;

/** A client generated from the published contract. */
export function connect(address: string, key: string): VectorDbClient {
  const metadata = NiceMetadata({ authorization: key });
  return createClient(VectorDBDefinition, createChannel(address), { '*': { metadata } });
}

/** How a call ended: with an answer, or with a status and its trailing metadata. */
export interface Answer {
  readonly code: status;
  readonly details: string;
  readonly message: Buffer | undefined;
  readonly requestId: string | undefined;
  /** The trailing metadata of a failure. */
  readonly metadata?: Metadata;
}

/** A client that sends and receives raw bytes, whatever they are. */
export class RawClient {
  readonly #client: Client;
  readonly #key: string | undefined;

  constructor(address: string, key?: string) {
    const options = { 'grpc.max_receive_message_length': -1 };
    this.#client = new Client(address, credentials.createInsecure(), options);
    this.#key = key;
  }

  /** Calls a method of vectordb.VectorDB, or one given by its whole path. */
  call(method: string, request: Uint8Array, headers?: Record<string, string>): Promise<Answer> {
    const path = method.startsWith('/') ? method : `/vectordb.VectorDB/${method}`;
    const metadata = new Metadata();
    if (this.#key !== undefined) metadata.set('authorization', this.#key);
    for (const [name, value] of Object.entries(headers ?? {})) metadata.set(name, value);
    return new Promise((resolve) => {
      const bytes = Buffer.from(request);
      this.#client.makeUnaryRequest(path, same, same, bytes, metadata, (error, message) => {
        resolve(error === null ? answered(message) : failed(error));
      });
    });
  }

  close(): void {
    this.#client.close();
  }
}

function same(bytes: Buffer): Buffer {
  return bytes;
}

function answered(message: Buffer | undefined): Answer {
  return { code: status.OK, details: '', message, requestId: undefined };
}

function failed({ code, details, metadata }: ServiceError): Answer {
  const requestId = metadata.get('x-request-id')[0]?.toString();
  return { code, details, message: undefined, requestId, metadata };
}
