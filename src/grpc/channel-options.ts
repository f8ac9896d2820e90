import type { ChannelOptions } from '@grpc/grpc-js';
import type { RequestScheduler } from '../admission/request-scheduler.js';
import { MAX_HEADER_BYTES, MAX_RESETS_PER_S, type Connections } from './connections.js';
import type { CallGate } from './gate.js';
import { HTTP2_SETUP, type Http2Setup } from './seams.js';

/**
 * Calls that one connection may have open at one time; a client queues the others. Without a
 * limit, calls that are opened and never ended take memory without end.
 */
const MAX_CONCURRENT_STREAMS = 256;

/**
 * What node keeps for one connection, in MiB: the state of its streams, their headers and frames
 * that wait to be written. Beyond it new streams are refused. The bytes of messages do not count.
 */
const MAX_SESSION_MEMORY_MIB = 64;

/** How often a silent connection is asked whether its client is still there. */
const KEEPALIVE_TIME_MS = 60_000;
/** How long it may take to say so, before its memory is given back. */
const KEEPALIVE_TIMEOUT_MS = 20_000;

const UNLIMITED = -1;

/**
 * Of headers that never end nghttp2 itself has enough after 8 frames, and of frames that break the
 * rules node after 1,000: each ends the connection. More than 128 headers are refused, too.
 */
export function channelOptions(
  maxRequestBytes: number,
  gate: CallGate,
  connections: Connections,
  pace: RequestScheduler,
): ChannelOptions {
  const setup: Http2Setup = {
    maxHeaderBytes: MAX_HEADER_BYTES,
    maxResetsPerS: MAX_RESETS_PER_S,
    pace,
    knows: (authorization) => gate.knows(authorization),
    refuse: (path) => gate.refuse(path),
    onServer: (server) => connections.watch(server),
  };
  return {
    [HTTP2_SETUP]: setup,
    'grpc.max_receive_message_length': maxRequestBytes,
    // An answer is as large as what the client asked for: a stored point, ids of all points.
    'grpc.max_send_message_length': UNLIMITED,
    'grpc.max_concurrent_streams': MAX_CONCURRENT_STREAMS,
    'grpc-node.max_session_memory': MAX_SESSION_MEMORY_MIB,
    'grpc.keepalive_time_ms': KEEPALIVE_TIME_MS,
    'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
    // Statistics that nothing here reads, at a cost for each call.
    'grpc.enable_channelz': 0,
    interceptors: [gate.interceptor],
  };
}
