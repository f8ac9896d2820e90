// Mistakes in the server. Each replaces text that is in a file exactly once, and names the tests
// that must notice it, as arguments of `vitest run`.

const EF_TESTS = ['test/search/ef.test.ts'];
const HTTP_LIMITS = ['test/http/limits.test.ts', '-t', 'MAX_'];
const GRPC_LIMITS = ['test/grpc/limits.test.ts', '-t', 'MAX_'];
const TIME_LIMITS = ['test/process/time-limits.test.ts'];
const HTTP_TIME_LIMITS = ['src/http/time-limits.test.ts'];
const GRACE_TESTS = ['src/process/start.test.ts'];
const START_TESTS = ['test/process/start.test.ts'];
const EARLY_TESTS = ['test/process/stop-early.test.ts'];
const STOP_TESTS = ['test/process/stop.test.ts'];
const READY_TESTS = ['test/observe/ready.test.ts'];
const METRICS_TESTS = ['test/observe/metrics.test.ts'];
const LOG_TESTS = ['src/observe', 'src/observe/graph-log.test.ts'];
const ERROR_DETAILS = ['test/grpc/error-details.test.ts'];
const TLS_TESTS = ['test/process/tls.test.ts'];
const LOOP_TESTS = ['test/process/loops.test.ts'];
const CORS_TESTS = ['test/http/cors.test.ts'];
const PROXY_TESTS = ['test/process/trusted-proxies.test.ts'];
const KEYS_TESTS = ['src/auth'];
const CHECK_TESTS = ['test/recovery/check-folder.test.ts'];
const HTTP_AUTH = ['test/http/auth.test.ts', 'test/http/routes.test.ts'];
const GRPC_AUTH = ['test/grpc/auth.test.ts'];
const ABANDONED_TESTS = ['test/search/abandoned.test.ts'];
const DECODE_TESTS = ['test/wire/large-requests.test.ts'];
const VISIBILITY_TESTS = ['test/http/points.test.ts', 'test/grpc/operations.test.ts'];
const SEARCH_TESTS = ['test/http/search.test.ts'];
const BODY_TESTS = ['src/http/body.test.ts', 'test/http/protocol.test.ts'];

export const SERVER_MUTANTS = [
  // What a search is asked for.
  mutant(
    'a query that names an ef has that of the service',
    'src/core/query-batch.ts',
    'return ef === 0 ? defaultEf : clampToUint32(ef);',
    'return ef === 0 ? clampToUint32(ef) : defaultEf;',
    EF_TESTS,
  ),
  mutant(
    'the ef of a single search is ignored',
    'src/engine/native.ts',
    'this.#engine.search(vector, similarity, limit, ef)',
    'this.#engine.search(vector, similarity, limit, Math.min(ef, 1) * 100)',
    EF_TESTS,
  ),
  mutant(
    'the efs of a batch are ignored',
    'src/engine/native.ts',
    'this.#engine.searchBatch(vectors, similarities, limits, efs)',
    'this.#engine.searchBatch(vectors, similarities, limits, efs.fill(100))',
    EF_TESTS,
  ),
  mutant(
    'the ef of a gRPC query is not read',
    'src/wire/protobuf/read-search.ts',
    'else if (tag === EF) ef = reader.uint64();',
    'else if (tag === EF) reader.uint64();',
    EF_TESTS,
  ),
  mutant(
    'the ef of a JSON query is checked and dropped',
    'src/wire/json/json.ts',
    'return { vector, similarity: similarity as Similarity, limit, ef };',
    'return { vector, similarity: similarity as Similarity, limit, ef: ef * 0 };',
    EF_TESTS,
  ),
  mutant(
    'an ef of 0 is a breadth of 0',
    'src/core/query-batch.ts',
    'return ef === 0 ? defaultEf : clampToUint32(ef);',
    'return clampToUint32(ef);',
    ['test/search/settings.test.ts'],
  ),
  mutant(
    'a limit beyond 32 bits wraps around',
    'src/core/query-batch.ts',
    'return Math.min(value, UINT32_MAX);',
    'return value >>> 0;',
    SEARCH_TESTS,
  ),

  // Limits.
  mutant(
    'MAX_SEARCH_WORK is not looked at',
    'src/core/search-work.ts',
    'if (work > maxSearchWork && limits.length > 1) {',
    'if (work > maxSearchWork && limits.length > 1e9) {',
    GRPC_LIMITS,
  ),
  mutant(
    'a single query is bounded by MAX_SEARCH_WORK',
    'src/core/search-work.ts',
    'if (work > maxSearchWork && limits.length > 1) {',
    'if (work > maxSearchWork) {',
    GRPC_LIMITS,
  ),
  mutant(
    'answers are not compared with MAX_INFLIGHT_BYTES before they are made',
    'src/core/search-work.ts',
    'if (ids * POINT_ID_BYTES > maxInflightBytes && limits.length > 1) {',
    'if (ids * POINT_ID_BYTES > maxInflightBytes && limits.length > 1e9) {',
    HTTP_LIMITS,
  ),
  mutant(
    'answers take nothing of MAX_INFLIGHT_BYTES',
    'src/http/routes.ts',
    'reservationOf(ctx, inflight).take(Buffer.isBuffer(json) ? json.length : json.sourceBytes);',
    'reservationOf(ctx, inflight).take(0);',
    HTTP_LIMITS,
  ),
  mutant(
    'answers of gRPC calls take nothing of MAX_INFLIGHT_BYTES',
    'src/grpc/call-lifecycle.ts',
    'this.#sendingSinceMs ??= performance.now();\n    this.#reserve(bytes);',
    'this.#sendingSinceMs ??= performance.now();\n    this.#reserve(bytes * 0);',
    GRPC_LIMITS,
  ),
  mutant(
    'one item less than MAX_BATCH is the most',
    'src/core/rules.ts',
    'if (count <= maxBatch) return;',
    'if (count < maxBatch) return;',
    GRPC_LIMITS,
  ),
  mutant(
    'one item more than MAX_BATCH is taken',
    'src/core/rules.ts',
    'if (count <= maxBatch) return;',
    'if (count <= maxBatch + 1) return;',
    GRPC_LIMITS,
  ),
  mutant(
    'MAX_CONTENT_BYTES counts UTF-16 units',
    'src/core/point-batch.ts',
    'const bytes = Buffer.byteLength(payload.content);',
    'const bytes = payload.content.length;',
    GRPC_LIMITS,
  ),
  mutant(
    'a body has to be smaller than MAX_REQUEST_BYTES',
    'src/http/body.ts',
    'if (bytes <= maxRequestBytes) return;',
    'if (bytes < maxRequestBytes) return;',
    HTTP_LIMITS,
  ),
  mutant(
    'what a request took is not given back',
    'src/admission/memory-budget.ts',
    'this.inflight.release(this.#bytes);',
    '',
    HTTP_LIMITS,
  ),
  mutant(
    'what a request takes after its end is never given back',
    'src/admission/memory-budget.ts',
    'if (this.#hasEnded) return;\n    this.inflight.reserve(bytes, this.#bytes);',
    'this.inflight.reserve(bytes, this.#bytes);',
    ['src/admission/memory-budget.test.ts'],
  ),
  mutant(
    'large requests take what is there for small ones',
    'src/admission/memory-budget.ts',
    '(isSmall ? this.maxBytes : this.#forLargeBytes)',
    '(isSmall ? this.maxBytes : this.maxBytes)',
    ['src/admission/memory-budget.test.ts'],
  ),
  mutant(
    'the busiest connection is evicted',
    'src/admission/connection-limit.ts',
    'if (ms <= mostMs || !mayBe(connection)) continue;',
    'if (ms > mostMs || !mayBe(connection)) continue;',
    GRPC_LIMITS,
  ),

  // Time.
  mutant(
    'a gRPC message that stops arriving is never refused',
    'src/grpc/call-lifecycle.ts',
    'this.#receivedBytes - this.#bytesAtCheck < LEAST_BYTES_PER_CHECK',
    'this.#receivedBytes - this.#bytesAtCheck < 0',
    TIME_LIMITS,
  ),
  mutant(
    'a connection that answers no ping is never closed',
    'src/grpc/connections.ts',
    "if (silentMs > afterMs + timeoutMs) this.#close('unanswered_ping');\n    else if",
    'if',
    TIME_LIMITS,
  ),
  mutant(
    'headers have for ever to arrive',
    'src/http/time-limits.ts',
    'headersTimeout: 30_000,',
    'headersTimeout: 0,',
    HTTP_TIME_LIMITS,
  ),
  mutant(
    'headers and bodies have as long as node gives them',
    'src/http/time-limits.ts',
    '    ...limits,\n',
    '',
    HTTP_TIME_LIMITS,
  ),
  mutant(
    'an answer may wait for ever to be read',
    'src/http/time-limits.ts',
    'server.timeout = timeout;',
    '',
    HTTP_TIME_LIMITS,
  ),
  mutant(
    'a body that stops arriving is waited for',
    'src/http/body.ts',
    '() => fail(tooSlow()),',
    '() => {},',
    ['src/http/body.test.ts'],
  ),
  mutant(
    'what arrives too slowly is never refused',
    'src/admission/min-data-rate.ts',
    'if (bytes - bytesAtCheck < LEAST_BYTES_PER_CHECK) fail();',
    'if (bytes < bytesAtCheck) fail();',
    ['src/admission/min-data-rate.test.ts'],
  ),
  mutant(
    'who goes on sending a refused body is never cut',
    'src/http/reply.ts',
    'if (!request.complete) cut(request);',
    '',
    ['src/http/answer-and-note.test.ts'],
  ),
  mutant(
    'a deadline that has passed is none',
    'src/grpc/transport/call.ts',
    'this.#deadline.start(() => this.fail(deadlineExceeded()));',
    '',
    ABANDONED_TESTS,
  ),
  mutant(
    'searches of HTTP clients that have left go on',
    'src/http/read-request.ts',
    'return (listener) => onRequestEnd(ctx.res, listener);',
    'return () => void ctx;',
    ABANDONED_TESTS,
  ),
  mutant(
    'searches of gRPC clients that have left go on',
    'src/grpc/answering.ts',
    "else signal.addEventListener('abort', listener, { once: true });",
    '',
    ABANDONED_TESTS,
  ),

  // The start and the stop.
  mutant(
    'HTTP_HOST is ignored',
    'src/process/start.ts',
    'const httpAddress = { host: config.httpHost, port: config.httpPort };',
    "const httpAddress = { host: '127.0.0.1', port: config.httpPort };",
    START_TESTS,
  ),
  mutant(
    'what is unread late in the time of grace is read',
    'src/process/start.ts',
    'clock.after(SHUTDOWN_GRACE_MS / 2, () => decoder.refuseUnread())',
    'clock.after(SHUTDOWN_GRACE_MS / 2, () => {})',
    GRACE_TESTS,
  ),
  mutant(
    'HTTP requests are not cut at the end of the time of grace',
    'src/http/server.ts',
    'clock.after(graceMs, () => connections.closeAll())',
    'clock.after(graceMs, () => {})',
    GRACE_TESTS,
  ),
  mutant(
    'gRPC calls are not cut at the end of the time of grace',
    'src/grpc/server.ts',
    'clock.after(graceMs, () => server.forceShutdown())',
    'clock.after(graceMs, () => undefined)',
    GRACE_TESTS,
  ),
  mutant(
    'a service that is stopping is ready',
    'src/process/loop.ts',
    'this.service.announceStop();',
    '',
    READY_TESTS,
  ),
  mutant(
    'a stop cuts what is under way',
    'src/process/start.ts',
    'await loops.close(SHUTDOWN_GRACE_MS);',
    'await loops.close(0);',
    STOP_TESTS,
  ),
  mutant(
    'a connection that is never idle holds up the stop',
    'src/http/connections.ts',
    "if (this.#isClosing) response.setHeader('Connection', 'close');",
    '',
    STOP_TESTS,
  ),
  mutant(
    'calls of a connection that is being closed are looked at',
    'src/grpc/transport/server.ts',
    'if (stream.destroyed || connection.isClosing) {',
    'if (stream.destroyed) {',
    ['test/grpc/limits.test.ts', '-t', 'calls that are reset'],
  ),
  mutant(
    'a second signal is ignored',
    'src/process/shutdown.ts',
    'exitNow(EXIT_SIGNAL + constants.signals[signal]);',
    '',
    STOP_TESTS,
  ),
  mutant(
    'a stop that has failed ends with 0',
    'src/process/serve.ts',
    'return EXIT_REFUSED;',
    'return EXIT_OK;',
    ['test/recovery/permissions.test.ts', '-t', 'becomes read-only'],
  ),
  mutant(
    'a signal waits for the data folder to be open',
    'src/process/serve.ts',
    'if (early !== undefined) stopEarly(early, logger);',
    '',
    EARLY_TESTS,
  ),
  mutant(
    'a stop before the service is ready is a failure',
    'src/process/serve.ts',
    'exitNow(EXIT_OK);',
    'exitNow(EXIT_REFUSED);',
    EARLY_TESTS,
  ),

  // Errors.
  mutant(
    'UNAVAILABLE is INTERNAL over gRPC',
    'src/core/errors.ts',
    'UNAVAILABLE: { http: 503, grpc: GRPC.UNAVAILABLE,',
    'UNAVAILABLE: { http: 503, grpc: GRPC.INTERNAL,',
    GRACE_TESTS,
  ),
  mutant(
    'an overload is UNAVAILABLE over gRPC',
    'src/core/errors.ts',
    'OVERLOADED: { http: 503, grpc: GRPC.RESOURCE_EXHAUSTED,',
    'OVERLOADED: { http: 503, grpc: GRPC.UNAVAILABLE,',
    GRPC_LIMITS,
  ),
  mutant(
    'what the service is told to do again has no Retry-After',
    'src/http/reply.ts',
    "ctx.set('Retry-After', String(known.retryAfterS));",
    'void known;',
    HTTP_LIMITS,
  ),
  ...[
    ['INVALID_ARGUMENT', 'INVALID_ARGUMENT'],
    ['NOT_FINITE', 'INVALID_ARGUMENT'],
    ['OVERLOADED', 'OVERLOADED'],
    ['CLOSED', 'UNAVAILABLE'],
    ['ABANDONED', 'CANCELLED'],
  ].map(([engines, ours]) =>
    mutant(
      `${engines} of the engine is a fault`,
      'src/engine/errors.ts',
      `['${engines}', '${ours}'],`,
      '',
      ['src/engine/native.test.ts'],
    ),
  ),
  mutant(
    'STORAGE_FULL of the engine is a fault',
    'src/engine/errors.ts',
    "['STORAGE_FULL', 'STORAGE_FULL'],",
    '',
    ['test/recovery/full-disk.test.ts', '-t', 'inserts are refused'],
  ),
  mutant(
    'the item that the engine refuses is not named',
    'src/engine/errors.ts',
    "item === undefined ? '' : describe(item)",
    "item === undefined ? '' : ''",
    ['src/engine/native.test.ts'],
  ),
  mutant(
    'a fault of the engine is an overload',
    'src/engine/errors.ts',
    "CODES.get(code) ?? 'INTERNAL'",
    "CODES.get(code) ?? 'OVERLOADED'",
    ['src/engine/native.test.ts'],
  ),
  mutant(
    'a client sees the reason of a fault',
    'src/http/reply.ts',
    "error instanceof VectordError && error.code !== 'INTERNAL' ? error : undefined",
    'error instanceof VectordError ? error : undefined',
    READY_TESTS,
  ),
  mutant(
    'a gRPC client sees the reason of a fault',
    'src/grpc/server-error.ts',
    "error instanceof VectordError && error.code !== 'INTERNAL' ? error : undefined",
    'error instanceof VectordError ? error : undefined',
    READY_TESTS,
  ),
  mutant(
    'a delete of a missing point is OK over gRPC',
    'src/grpc/handlers.ts',
    'if (!(await service.delete(toPointId(request)))) throw pointNotFound();',
    'await service.delete(toPointId(request));',
    ['test/grpc/refusals.test.ts'],
  ),
  mutant(
    'an id that is no UUID is NOT_FOUND over gRPC',
    'src/wire/protobuf/convert.ts',
    'throw invalid(`id is ${quote(id.value)}, expected a UUID (8-4-4-4-12 hexadecimal digits)`);',
    "throw new VectordError('NOT_FOUND', quote(id.value));",
    ['test/grpc/refusals.test.ts'],
  ),
  mutant(
    'content comes back as an image',
    'src/engine/native.ts',
    'return number === ContentType.Text ? ContentType.Text : ContentType.Image;',
    'return number === ContentType.Image ? ContentType.Image : ContentType.Image;',
    VISIBILITY_TESTS,
  ),
  mutant(
    'a batch is stored though one of its items is wrong',
    'src/core/rules.ts',
    'if (wrong < 0) return;',
    'if (wrong !== 0) return;',
    ['test/http/points.test.ts'],
  ),

  // What a program can tell failures by.
  mutant(
    'a request that is too large has no details over gRPC',
    'src/grpc/error-details.ts',
    'failure.code === Code.RESOURCE_EXHAUSTED;',
    'failure.code === Code.INTERNAL;',
    ERROR_DETAILS,
  ),
  mutant(
    'an overload over gRPC does not tell when to try again',
    'src/grpc/error-details.ts',
    "details.push(packed('RetryInfo', RetryInfo.encode({ retryDelay })));",
    'RetryInfo.encode({ retryDelay });',
    ERROR_DETAILS,
  ),

  // TLS.
  mutant(
    'a key is taken that is of another certificate',
    'src/auth/tls-files.ts',
    'if (!certificate.checkPrivateKey(parseKey(key))) {',
    'if (parseKey(key) === undefined) {',
    TLS_TESTS,
  ),
  mutant(
    'half of a pair is no TLS',
    'src/config/config.ts',
    '  faults.push(...missingForTls(environment));\n',
    '',
    TLS_TESTS,
  ),
  mutant(
    'old versions of TLS are spoken',
    'src/admission/handshakes.ts',
    "const MIN_VERSION = 'TLSv1.2';",
    "const MIN_VERSION = 'TLSv1';",
    TLS_TESTS,
  ),
  mutant(
    'a client is served whose certificate is not of TLS_CLIENT_CA',
    'src/admission/handshakes.ts',
    'rejectUnauthorized: wantsClientCertificate,',
    'rejectUnauthorized: false,',
    TLS_TESTS,
  ),
  mutant(
    'a handshake that fails is not told of',
    'src/admission/handshakes.ts',
    'if (hasFailed(error, socket)) stats.',
    'if (false) stats.',
    TLS_TESTS,
  ),
  mutant(
    'a client that gives up its handshake is told of',
    'src/admission/handshakes.ts',
    'if (hasFailed(error, socket)) stats.',
    'if (true) stats.',
    TLS_TESTS,
  ),
  mutant(
    'gRPC is served to a client of another protocol',
    'src/admission/handshakes.ts',
    "const isRight = protocol === 'http/1.1' || socket.alpnProtocol === protocol;",
    'const isRight = true;',
    TLS_TESTS,
  ),
  mutant(
    'the new certificate is for one interface alone',
    'src/process/loop.ts',
    '    this.#handshakes?.grpc.setPair(pair);\n',
    '',
    TLS_TESTS,
  ),
  mutant(
    'a handshake is not counted among the connections without a key',
    'src/admission/connection-limit.ts',
    '    this.#connections.add(handshake);\n',
    '',
    TLS_TESTS,
  ),

  // Browsers, and proxies.
  mutant(
    'pages of every origin are let in',
    'src/http/cors.ts',
    'if (origin === undefined || !(isOpen || origins.includes(origin))) {',
    'if (origin === undefined) {',
    CORS_TESTS,
  ),
  mutant(
    'a cache may hand an answer to another origin',
    'src/http/cors.ts',
    "if (!isOpen) ctx.vary('Origin');",
    "if (isOpen) ctx.vary('Origin');",
    CORS_TESTS,
  ),
  mutant(
    'a preflight tells which paths there are',
    'src/http/cors.ts',
    'known.test(path)',
    "known.test(path) || path !== ''",
    CORS_TESTS,
  ),
  mutant(
    'every connection is that of a trusted proxy',
    'src/admission/trusted-proxies.ts',
    'address !== undefined && list.check(address, familyOf(address))',
    'address !== undefined',
    PROXY_TESTS,
  ),
  mutant(
    'the connection of a trusted proxy is evicted',
    'src/grpc/connections.ts',
    'return this.isTrusted || ',
    'return ',
    PROXY_TESTS,
  ),
  mutant(
    'a trusted proxy may have as few calls open as a client',
    'src/grpc/transport/server.ts',
    '(isShared ? this.#sharedServer : this.#server)',
    '(isShared ? this.#server : this.#server)',
    PROXY_TESTS,
  ),
  mutant(
    'a trusted proxy may not send requests without waiting',
    'src/http/connections.ts',
    'isTrusted ? Infinity : MAX_WAITING',
    'isTrusted ? MAX_WAITING : MAX_WAITING',
    PROXY_TESTS,
  ),

  // Keys.
  mutant(
    'keys that were revoked stay valid once they were used',
    'src/auth/keys.ts',
    '    this.#keys = keys;\n    this.#proven = [];',
    '    this.#keys = keys;',
    KEYS_TESTS,
  ),
  mutant(
    'a new keys file is not synced',
    'src/auth/keys-file.ts',
    '    fsyncSync(file);\n',
    '',
    KEYS_TESTS,
  ),
  mutant(
    'the name of a new keys file is not synced',
    'src/auth/keys-file.ts',
    '    syncFolder(dirname(path));\n',
    '',
    KEYS_TESTS,
  ),
  mutant(
    'a keys file is read while it is being written',
    'src/config/file-watch.ts',
    'const settled = version === this.#seenVersion;',
    "const settled = version !== '';",
    KEYS_TESTS,
  ),
  mutant(
    'a keys file that is read again is taken without its warnings',
    'src/auth/keys-watch.ts',
    'for (const warning of keys.warnings) logger.warn(warning);',
    '',
    KEYS_TESTS,
  ),
  mutant(
    'a misspelled setting of a command is silent',
    'src/main.ts',
    'process.stderr.write(`warning: ${line}\\n`);',
    'void line;',
    CHECK_TESTS,
  ),
  mutant(
    'a client with a key has as little time to answer a ping as a stranger',
    'src/grpc/connections.ts',
    "PING[this.hasKey ? 'keyed' : 'unkeyed']",
    "PING[this.hasKey ? 'unkeyed' : 'unkeyed']",
    TIME_LIMITS,
  ),
  mutant(
    'a bad keys file is read again at each look',
    'src/config/file-watch.ts',
    '    this.#handledVersion = version;\n    await this.reload();',
    '    await this.reload();',
    KEYS_TESTS,
  ),
  mutant(
    'a path is looked for before the key is',
    'src/http/app.ts',
    'if (needsKey(path)) ctx.state.role = authenticate(ctx.req, keys);\n    if (!isPlain(path)) throw notFound();',
    'if (!isPlain(path)) throw notFound();\n    if (needsKey(path)) ctx.state.role = authenticate(ctx.req, keys);',
    HTTP_AUTH,
  ),
  mutant(
    'a readonly key may delete',
    'src/http/routes.ts',
    "method: 'DELETE',\n      path: '/points/:id',\n      access: 'readwrite',",
    "method: 'DELETE',\n      path: '/points/:id',\n      access: 'readonly',",
    HTTP_AUTH,
  ),
  mutant(
    'a readonly key may delete over gRPC',
    'src/grpc/methods.ts',
    "add(store, its.deletePoint.name, 'readwrite',",
    "add(store, its.deletePoint.name, 'readonly',",
    GRPC_AUTH,
  ),
  mutant(
    'of two keys the first counts',
    'src/grpc/access-control.ts',
    'if (authorizations.length > 1) {',
    'if (authorizations.length > 2) {',
    GRPC_AUTH,
  ),
  mutant(
    'the metrics are open',
    'src/http/routes.ts',
    "access: metricsOpen ? 'open' : 'readonly',",
    "access: metricsOpen ? 'open' : 'open',",
    METRICS_TESTS,
  ),

  // What the service tells of itself.
  mutant(
    'a watch hears of a fault after an hour',
    'src/grpc/health.ts',
    'this.clock.every(WATCH_INTERVAL_MS, look)',
    'this.clock.every(WATCH_INTERVAL_MS * 3_600, look)',
    ['src/grpc/health.test.ts'],
  ),
  mutant(
    'a watch is told the same with every look',
    'src/grpc/health.ts',
    'if (status !== told) yield { status };',
    'yield { status };',
    ['src/grpc/health.test.ts'],
  ),
  mutant(
    'damage leaves the service ready',
    'src/core/service.ts',
    'if (damage !== undefined) faults',
    'if (damage !== undefined && this.#isStopping) faults',
    READY_TESTS,
  ),
  mutant(
    'deleted points are none',
    'src/observe/metrics.ts',
    "'Deleted points whose slots are not free yet.', dead);",
    "'Deleted points whose slots are not free yet.', dead * 0);",
    METRICS_TESTS,
  ),
  mutant(
    'processor time is in milliseconds',
    'src/observe/metrics.ts',
    '(user + system) / US_PER_S',
    '(user + system) / 1_000',
    METRICS_TESTS,
  ),
  mutant(
    'processor time is in thousands of seconds',
    'src/observe/metrics.ts',
    '(user + system) / US_PER_S',
    '(user + system) / 1e9',
    METRICS_TESTS,
  ),
  mutant(
    'the times of syncs are in microseconds',
    'src/observe/metrics.ts',
    'syncHelp, [[{}, syncs]], US_PER_S);',
    'syncHelp, [[{}, syncs]]);',
    METRICS_TESTS,
  ),
  mutant(
    'durations are in milliseconds',
    'src/observe/requests.ts',
    'operation.durations.add(durationMs / 1000);',
    'operation.durations.add(durationMs);',
    METRICS_TESTS,
  ),
  mutant(
    'the data folder is measured in blocks of 4 KiB',
    'src/observe/folder-size.ts',
    'const STAT_BLOCK_BYTES = 512;',
    'const STAT_BLOCK_BYTES = 4096;',
    METRICS_TESTS,
  ),
  mutant(
    'the heap is told of as memory outside of it',
    'src/observe/metrics.ts',
    "'Memory of buffers outside of it.', external);",
    "'Memory of buffers outside of it.', heapUsed + 0 * external);",
    METRICS_TESTS,
  ),
  mutant(
    'requests that have ended are under way',
    'src/observe/requests.ts',
    'this.#underWay -= 1;',
    '',
    METRICS_TESTS,
  ),
  mutant(
    'each connection that is closed is a line',
    'src/observe/connection-stats.ts',
    'const leftOut = this.#lines.next();',
    'const leftOut = this.#lines.next() ?? {};',
    LOG_TESTS,
  ),
  mutant(
    'the number of lines left out is never 0 again',
    'src/observe/log-rate-limit.ts',
    '    this.#leftOut = 0;\n    return',
    '    return',
    LOG_TESTS,
  ),
  mutant(
    'a fault is a line each second',
    'src/observe/graph-log.ts',
    'this.#faults.set(what, fault);',
    '',
    LOG_TESTS,
  ),
  mutant(
    'a graph that is built is told of again and again',
    'src/observe/graph-log.ts',
    "'the graph is built');\n      this.#built.add(metric);",
    "'the graph is built');",
    LOG_TESTS,
  ),
  mutant(
    'an answer of /ready that is 503 is a fault of the service',
    'src/http/answer-and-note.ts',
    'const isFault = failure !== undefined && status >= 500;',
    'const isFault = status >= 500;',
    READY_TESTS,
  ),

  // Bodies.
  mutant(
    'any type of content is taken for JSON',
    'src/http/body.ts',
    'checkContentType(req.headers[',
    'void (req.headers[',
    BODY_TESTS,
  ),
  mutant(
    'a length that does not fit is not refused before it is sent',
    'src/http/body.ts',
    '  inflight.check(declaredBytes);\n',
    '',
    BODY_TESTS,
  ),
  mutant(
    'each chunk of a body is kept by itself',
    'src/http/body-bytes.ts',
    'chunk.length >= PART_BYTES;',
    'chunk.length >= 0;',
    BODY_TESTS,
  ),
  mutant(
    'the thread that reads large requests never rests',
    'src/wire/decoder-thread.ts',
    'this.#idle = setTimeout(() => this.#rest(), this.idleMs).unref();',
    '',
    DECODE_TESTS,
  ),
  mutant(
    'the thread that reads large requests goes on when another takes its place',
    'src/wire/decoder-thread.ts',
    'void worker?.terminate();',
    '',
    DECODE_TESTS,
  ),
  mutant(
    'each large request is read by a thread of its own',
    'src/wire/decoder-thread.ts',
    'this.#worker ??= this.#start();',
    'this.#worker = this.#start();',
    DECODE_TESTS,
  ),
  mutant(
    'the largest request is read first',
    'src/wire/decoder-thread.ts',
    'waiting.task.bytes.length < next.task.bytes.length',
    'waiting.task.bytes.length > next.task.bytes.length',
    DECODE_TESTS,
  ),
  mutant(
    'a large request waits for ever behind smaller ones',
    'src/wire/decoder-thread.ts',
    'if (this.#dispatched % OLDEST_EVERY !== 0) {',
    'if (this.#dispatched > 0) {',
    DECODE_TESTS,
  ),
  mutant(
    'requests whose clients have left wait on',
    'src/wire/decoder-thread.ts',
    'if (this.#queue.delete(waiting) || this.#running === waiting) reject(hasGone());',
    'if (this.#running === waiting) reject(hasGone());',
    DECODE_TESTS,
  ),

  // Several loops.
  mutant(
    'changed keys reach one loop alone',
    'src/process/loops.ts',
    'await this.#each((loop) => loop.setKeys(keys));',
    'await this.own.setKeys(keys);',
    LOOP_TESTS,
  ),
  mutant(
    'changed keys are told of before each loop has them',
    'src/auth/keys-watch.ts',
    'await take(keys.list);',
    'void take(keys.list);',
    KEYS_TESTS,
  ),
  mutant(
    'each loop has a budget of its own',
    'src/process/loop.ts',
    'new SharedCount(shared.inflight)',
    'new SharedCount()',
    LOOP_TESTS,
  ),
  mutant(
    'each loop has a limit of open calls of its own',
    'src/process/loop.ts',
    'new OpenCalls(shared.openCalls)',
    'new OpenCalls()',
    LOOP_TESTS,
  ),
  mutant(
    'a loop tells its own metrics alone',
    'src/observe/loop-stats.ts',
    'for (const [name, count] of other) sums.set(name, (sums.get(name) ?? 0) + count);',
    '',
    LOOP_TESTS,
  ),
  mutant(
    'a loop may end and leave its connections',
    'src/process/loop-thread.ts',
    'if (!this.#isEnding) throw',
    'if (this.#isEnding) throw',
    LOOP_TESTS,
  ),
  mutant(
    'the main thread alone tells of the defect of a loop',
    'src/process/loop-worker.ts',
    '  exitOnDefect(logger);\n',
    '',
    LOOP_TESTS,
  ),
  mutant(
    'a defect ends the threads one after the other',
    'src/process/shutdown.ts',
    'exitNow(1)',
    'process.exit(1)',
    LOOP_TESTS,
  ),
  mutant(
    'a connection keeps its place after its end',
    'src/engine/acceptor.ts',
    "return socket.once('close', () => connection.end());",
    'return socket;',
    TLS_TESTS,
  ),
];

function mutant(name, file, from, to, tests) {
  return { name, file, from, to, tests };
}
