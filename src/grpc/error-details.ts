import type { BinaryWriter } from '@bufbuild/protobuf/wire';
import { Status as Code, ServerError } from 'nice-grpc-common';
import { VectordError } from '../core/errors.js';
import type { Any } from '../gen/google/protobuf/any.js';
import { ErrorInfo, RetryInfo } from '../gen/google/rpc/error_details.js';
import { Status } from '../gen/google/rpc/status.js';
import { binaryText } from './transport/metadata.js';

/** Whose reasons they are. */
const DOMAIN = 'vectord';

/**
 * What a program can tell a failure by, besides its status: three of them are RESOURCE_EXHAUSTED.
 * Undefined where the status says it all.
 */
export function statusDetails(code: Code, failure: unknown): string | undefined {
  const known = asVectordError(failure);
  if (known?.reason === undefined) return undefined;
  const { reason, retryAfterS } = known;
  const details = [packed('ErrorInfo', ErrorInfo.encode({ reason, domain: DOMAIN, metadata: {} }))];
  if (retryAfterS !== undefined) {
    const retryDelay = { seconds: BigInt(retryAfterS), nanos: 0 };
    details.push(packed('RetryInfo', RetryInfo.encode({ retryDelay })));
  }
  return binaryText(Status.encode({ code, message: known.message, details }).finish());
}

/** The transport knows one limit, that of a message, and throws what gRPC has for it. */
function asVectordError(failure: unknown): VectordError | undefined {
  if (failure instanceof VectordError) return failure;
  const isTooLarge = failure instanceof ServerError && failure.code === Code.RESOURCE_EXHAUSTED;
  return isTooLarge ? new VectordError('TOO_LARGE', failure.details) : undefined;
}

function packed(name: string, message: BinaryWriter): Any {
  const value = Buffer.from(message.finish());
  return { typeUrl: `type.googleapis.com/google.rpc.${name}`, value };
}
