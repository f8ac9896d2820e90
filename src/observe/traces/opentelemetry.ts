// The only file that imports OpenTelemetry; only open.ts imports it, where traces are on.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingHttpHeaders } from 'node:http';
import {
  defaultTextMapGetter,
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  type Tracer,
} from '@opentelemetry/api';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { VERSION } from '../../config/version.js';
import type { Clock } from '../../core/clock.js';
import { EXIT_BAD_USAGE, messageOf, StartError } from '../../core/start-error.js';
import type { Logger } from '../logger.js';
import type { RequestTrace, StepName, Tracing } from '../tracing.js';
import { ExportFaults } from './export-faults.js';
import { RequestSpan, type CurrentRequest, type Harmless } from './request-span.js';

export interface TraceOptions {
  /** Whether both interfaces have TLS. */
  readonly hasTls: boolean;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** The end of a complaint about a variable: the packages would go on, but the start is refused. */
const DEFAULT_INSTEAD =
  /,? (?:defaulting to|using default|falling back to|using 'undefined'|setting max).*$/s;

/** Where the spans of one loop go, by the settings of OpenTelemetry in the environment. */
export function traceByOpenTelemetry({ hasTls, logger, clock }: TraceOptions): Tracing {
  // The packages read some variables twice.
  const faults = new Set<string>();
  listen((reason) => faults.add(reason.replace(DEFAULT_INSTEAD, '')));
  const provider = new BasicTracerProvider({
    resource: describeService(),
    // It keeps 2,048 spans (OTEL_BSP_MAX_QUEUE_SIZE) and one batch, and drops further ones.
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  if (faults.size > 0) throw cannotFollow([...faults]);
  const exportFaults = new ExportFaults(logger, clock);
  listen((reason) => exportFaults.note(reason));
  const harmless: Harmless = (act) => {
    try {
      return act();
    } catch (error) {
      exportFaults.note(messageOf(error));
      return undefined;
    }
  };
  return new OpenTelemetryTracing(provider, hasTls ? 'https' : 'http', clock, harmless);
}

/** What OpenTelemetry has to complain about, in this thread. */
function listen(onFault: (reason: string) => void): void {
  diag.setLogger(
    { error: onFault, warn: onFault, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  setGlobalErrorHandler((error) => onFault(messageOf(error)));
}

function ignore(): void {}

function cannotFollow(faults: readonly string[]): StartError {
  const list = faults.map((fault) => `  ${fault}`).join('\n');
  return new StartError(`settings of OpenTelemetry cannot be followed:\n${list}`, EXIT_BAD_USAGE);
}

/** OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES overrule what we say. */
function describeService() {
  const own = resourceFromAttributes({ 'service.name': 'vectord', 'service.version': VERSION });
  return defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }));
}

class OpenTelemetryTracing implements Tracing {
  readonly #tracer: Tracer;
  readonly #propagator = new W3CTraceContextPropagator();
  readonly #current: CurrentRequest = new AsyncLocalStorage();

  constructor(
    private readonly provider: BasicTracerProvider,
    private readonly scheme: string,
    private readonly clock: Clock,
    private readonly harmless: Harmless,
  ) {
    this.#tracer = provider.getTracer('vectord', VERSION);
  }

  begin(
    protocol: 'http' | 'grpc',
    headers: IncomingHttpHeaders,
    path: string,
  ): RequestTrace | undefined {
    return this.harmless(() => this.#begin(protocol, headers, path));
  }

  #begin(
    protocol: 'http' | 'grpc',
    headers: IncomingHttpHeaders,
    path: string,
  ): RequestTrace | undefined {
    const parent = this.#propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
    const span = this.#tracer.startSpan(protocol, { kind: SpanKind.SERVER }, parent);
    if (!span.isRecording()) return undefined;
    const request = { protocol, scheme: this.scheme, path };
    return new RequestSpan(span, request, this.#tracer, this.#current, this.harmless);
  }

  step<Answer>(name: StepName, act: () => Answer): Answer {
    const request = this.#current.getStore();
    return request === undefined ? act() : request.step(name, act);
  }

  async close(withinMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const stopWaiting = this.clock.after(withinMs, resolve);
      const end = (): void => {
        stopWaiting();
        resolve();
      };
      // Whether a collector took it or not.
      this.provider.shutdown().then(end, end);
    });
  }
}
