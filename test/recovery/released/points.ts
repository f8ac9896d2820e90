import type { Metadata, NewPoint } from '../../../src/client/model.js';
import { id } from '../../client/open.js';
import type { TestPoint } from '../../support/clients.js';

/** What a folder holds, by ids. */
export type Points = ReadonlyMap<string, TestPoint>;

export const DIMENSION = 8;

/** How many points were stored, before some were deleted. */
export const STORED = 80;

/** The points of the folders that vectord 0.1 has written. Of each ten one is a special case. */
export function pointsOfReleases(): Points {
  const numbers = Array.from({ length: STORED }, (_, number) => number);
  const left = numbers.filter((number) => !isDeleted(number));
  return new Map(left.map((number) => [id(number), point(number)]));
}

export function isReplaced(number: number): boolean {
  return number % 10 === 1;
}

export function isUpdated(number: number): boolean {
  return number % 10 === 2;
}

export function isDeleted(number: number): boolean {
  return number % 10 === 3;
}

/** As it is at the end. */
export function point(number: number): TestPoint {
  return {
    vector: vector(isCopy(number) ? number - 5 : number),
    contentType: number % 4 === 0 ? 'Image' : 'Text',
    content: number % 7 === 0 ? '' : `Größe ${number} 🐈\n`,
    metadata: metadata(number),
  };
}

/** As it was stored at first, which some points are no longer. */
export function firstPoint(number: number): NewPoint & { readonly id: string } {
  const { content: last, metadata: lastMetadata, ...rest } = point(number);
  const isOther = isReplaced(number) || isUpdated(number);
  const content = isOther ? `before ${number}` : last;
  return { id: id(number), ...rest, content, metadata: isOther ? { old: true } : lastMetadata };
}

/** Whether its vector is that of an older point. */
function isCopy(number: number): boolean {
  return number % 10 === 9;
}

/** Values that single precision has. */
function vector(number: number): number[] {
  return Array.from({ length: DIMENSION }, (_, at) => ((number * (at + 5) + at) % 53) / 4 - 6);
}

function metadata(number: number): Metadata | null {
  if (number % 6 === 0) return null;
  return {
    year: 1990 + (number % 40),
    kind: ['größe', 'b', 'c'][number % 3] ?? '',
    even: number % 2 === 0,
    tags: ['a', 'b', 'c'].slice(number % 4),
    score: number / 8,
    nothing: null,
  };
}

/** What the samples of the engine hold, without the metadata of some, which are no JSON. */
export function pointsOfSamples(): Points {
  const numbers = Array.from({ length: 240 }, (_, number) => number);
  const left = numbers.filter((number) => number >= 180 || number % 9 === 0);
  return new Map(left.map((number) => [sampleId(number), samplePoint(number)]));
}

function sampleId(number: number): string {
  return `00000000-0000-0000-0000-${number.toString(16).padStart(12, '0')}`;
}

function samplePoint(number: number): TestPoint {
  return {
    vector: Array.from({ length: DIMENSION }, (_, at) => ((number * (at + 3)) % 97) - 0.5),
    contentType: number % 2 === 0 ? 'Image' : 'Text',
    content: `the content of point ${number}`,
  };
}
