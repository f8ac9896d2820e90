import { readFileSync } from 'node:fs';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { messageOf } from '../../core/start-error.js';

/** Variables that name one of some words, in any case of letters, and what they may be here. */
const WORDS: readonly (readonly [name: string, expected: readonly string[]])[] = [
  ['OTEL_SDK_DISABLED', ['true', 'false']],
  ['OTEL_TRACES_EXPORTER', ['otlp', 'none']],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', ['http/protobuf']],
  ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', ['http/protobuf']],
  ['OTEL_PROPAGATORS', ['tracecontext', 'tracecontext,baggage']],
];

/** A timer takes no more milliseconds. */
const MOST = 2 ** 31 - 1;

const NUMBERS: readonly (readonly [name: string, least: number, most: number])[] = [
  ['OTEL_BSP_SCHEDULE_DELAY', 0, MOST],
  ['OTEL_BSP_EXPORT_TIMEOUT', 1, MOST],
  ['OTEL_BSP_MAX_QUEUE_SIZE', 1, MOST],
  ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 1, MOST],
  ['OTEL_EXPORTER_OTLP_TIMEOUT', 1, MOST],
  ['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', 1, MOST],
  ['OTEL_TRACES_SAMPLER_ARG', 0, 1],
];

const FILES = ['CERTIFICATE', 'CLIENT_KEY', 'CLIENT_CERTIFICATE'].flatMap((name) => [
  `OTEL_EXPORTER_OTLP_${name}`,
  `OTEL_EXPORTER_OTLP_TRACES_${name}`,
]);

/** Headers that the exporter sets itself: others of these names would break every export, or be ignored. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'transfer-encoding',
  'user-agent',
]);

/** The longest text in an attribute of the resource that the packages take. */
const LONGEST_TEXT = 255;

/** Whether the variables say that there are no traces, whatever else they say. */
export function isTurnedOff(environment: NodeJS.ProcessEnv): boolean {
  const word = (name: string): string | undefined => textOf(environment, name)?.toLowerCase();
  return word('OTEL_SDK_DISABLED') === 'true' || word('OTEL_TRACES_EXPORTER') === 'none';
}

/**
 * What the variables of OpenTelemetry say that its packages would ignore, or replace by a default,
 * without a word or without the name of the variable.
 */
export function faultsIn(environment: NodeJS.ProcessEnv): string[] {
  const check = (name: string, faultOf: (text: string) => string | undefined): string[] => {
    const text = textOf(environment, name);
    const fault = text === undefined ? undefined : faultOf(text);
    return fault === undefined ? [] : [`${name} ${fault}`];
  };
  return [
    ...WORDS.flatMap(([name, expected]) =>
      check(name, (text) =>
        expected.includes(text.toLowerCase())
          ? undefined
          : `is ${JSON.stringify(text)}, expected ${expected.join(' or ')}`,
      ),
    ),
    ...NUMBERS.flatMap(([name, least, most]) =>
      check(name, (text) =>
        Number(text) >= least && Number(text) <= most
          ? undefined
          : `is ${JSON.stringify(text)}, expected a number from ${least} to ${most}`,
      ),
    ),
    ...FILES.flatMap((name) => check(name, fileFault)),
    ...['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'].flatMap((name) =>
      check(name, headerFault),
    ),
    ...check('OTEL_RESOURCE_ATTRIBUTES', attributeFault),
  ];
}

/** A blank variable counts as one that is not set, as the packages have it. */
function textOf(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  return environment[name]?.trim() || undefined;
}

function fileFault(path: string): string | undefined {
  try {
    readFileSync(path);
    return undefined;
  } catch (error) {
    return `names a file that cannot be read: ${messageOf(error)}`;
  }
}

/** Headers are named by their places: whatever is in them may be a secret. */
function headerFault(text: string): string | undefined {
  const place = faultyPlace(text, isHeader);
  if (place !== undefined) {
    return (
      `has no header in ${place}, expected NAME=VALUE, with commas between headers, and %2C, %3B ` +
      'and %25 for a comma, semicolon and % in a value'
    );
  }
  const own = faultyPlace(text, (entry) => !OWN_HEADERS.has(nameIn(entry).toLowerCase()));
  return own && `has a header in ${own} that the exporter sets itself: leave it out`;
}

function attributeFault(text: string): string | undefined {
  const place = faultyPlace(text, isAttribute);
  return (
    place &&
    `has no attribute in ${place}, expected NAME=VALUE, each of at most ${LONGEST_TEXT} ` +
      'characters, with commas between attributes, and %2C, %3D and %25 for a comma, = and %'
  );
}

/** The first place between commas that has something else than it should. */
function faultyPlace(text: string, isGood: (entry: string) => boolean): string | undefined {
  const entries = text.split(',');
  const at = entries.findIndex((entry) => entry.trim() !== '' && !isGood(entry));
  return at === -1 ? undefined : `place ${at + 1} of ${entries.length}`;
}

/** Whether an entry is a header that can be sent. What is behind a semicolon would not be sent. */
function isHeader(entry: string): boolean {
  try {
    const value = decodeURIComponent(entry.slice(entry.indexOf('=') + 1).trim());
    validateHeaderName(nameIn(entry));
    validateHeaderValue('value', value);
    return value !== '' && !entry.includes(';');
  } catch {
    return false;
  }
}

function nameIn(entry: string): string {
  return decodeURIComponent(entry.slice(0, Math.max(entry.indexOf('='), 0)).trim());
}

/** The packages would drop all attributes for one that is none. */
function isAttribute(entry: string): boolean {
  const parts = entry.split('=').map((part) => part.trim());
  try {
    const isShort = parts.every((part) => decodeURIComponent(part).length <= LONGEST_TEXT);
    return parts.length === 2 && parts[0] !== '' && isShort;
  } catch {
    return false;
  }
}
