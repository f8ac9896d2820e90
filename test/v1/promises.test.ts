import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { status as Status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { VectordError, type ErrorCode } from '../../src/core/errors.js';
import { v1Routes } from '../../src/http/v1-routes.js';
import type { HttpOptions } from '../../src/http/options.js';
import { PointsServiceDefinition } from '../../src/gen/vectord/v1/points.js';
import { ROOT, run } from '../examples/run.js';
import { startServer } from '../support/server.js';

const page = readFileSync(join(ROOT, 'docs/V1.md'), 'utf8');

/** All codes: the compiler tells of one that is left out. No client sees CANCELLED. */
const CODES: Readonly<Record<Exclude<ErrorCode, 'CANCELLED'>, true>> = {
  INVALID_ARGUMENT: true,
  UNAUTHENTICATED: true,
  PERMISSION_DENIED: true,
  NOT_FOUND: true,
  METHOD_NOT_ALLOWED: true,
  TIMEOUT: true,
  CONFLICT: true,
  TOO_LARGE: true,
  UNSUPPORTED_MEDIA_TYPE: true,
  INTERNAL: true,
  OVERLOADED: true,
  UNAVAILABLE: true,
  OUTCOME_UNKNOWN: true,
  STORAGE_FULL: true,
};

/** The cells of the rows of all tables, without the marks of code. */
function rows(): string[][] {
  const lines = page.split('\n').filter((line) => line.startsWith('| `'));
  return lines.map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim().replaceAll('`', '')),
  );
}

describe('docs/V1.md', () => {
  it('names every error code with the status that each protocol answers', () => {
    const told = rows().filter(([, status = '']) => /^\d{3}$/.test(status));
    const answered = (Object.keys(CODES) as ErrorCode[]).map((code) => {
      const { httpStatus, grpcStatus } = new VectordError(code, '');
      return [code, String(httpStatus), Status[grpcStatus]];
    });
    expect(told.map((row) => row.slice(0, 3))).toEqual(answered);
  });

  it('names every operation, with the role that it needs', () => {
    const told = rows().filter(([route = '']) => route.includes(' /v1/'));
    const routes = v1Routes({} as HttpOptions).map(({ method, path, access }) => [
      `${method} ${path}`,
      access === 'readonly' ? 'any' : access,
    ]);
    expect(told.map(([route, , key]) => [route, key]).toSorted()).toEqual(routes.toSorted());
    const methods = Object.values(PointsServiceDefinition.methods).map(({ name }) => name);
    const namedMethods = told.flatMap(([, grpc = '']) => grpc.split(', '));
    expect(namedMethods.toSorted()).toEqual(methods.toSorted());
  });

  it('has an example of every operation, and each of them works', async () => {
    const server = await startServer({ dimension: 4 });
    const blocks = Array.from(page.matchAll(/^```sh\n(.*?)^```$/gms), ([, block = '']) => block);
    const examples = blocks.join('\n').replaceAll('http://127.0.0.1:3000', server.http);
    const env = { VECTORD_KEY: server.keys.readwrite };
    const { code, stdout, stderr } = await run('sh', ['-c', `set -eu\n${examples}`], { env });
    expect(code, stderr).toBe(0);
    const [cat, dog] = ['1', '2'].map((end) => `00000000-0000-4000-8000-00000000000${end}`);
    const answers = stdout.trim().split('\n');
    expect(answers.map((answer) => JSON.parse(answer))).toEqual([
      { ids: [cat, dog], stored: 2, replaced: 0, kept: 0 },
      { ids: [cat], stored: 0, replaced: 0, kept: 1 },
      { points: [{ id: cat, vector: expect.any(String), content: 'a cat' }], missing: [] },
      {
        results: [
          { id: cat, distance: expect.any(Number), content: 'a cat' },
          { id: dog, distance: expect.any(Number), content: 'a dog' },
        ],
      },
      { results: [{ id: cat, distance: expect.any(Number) }] },
      { results: [[{ id: dog, distance: expect.any(Number) }]] },
      {
        points: [
          { id: dog, metadata: null },
          { id: cat, metadata: { year: 2024, tags: ['pet', 'fur'] } },
        ],
        next: null,
      },
      { updated: 1, missing: [] },
      { count: 2 },
      { count: 2 },
      expect.objectContaining({ dimension: 4, points: 2 }),
      { deleted: 1, missing: [] },
      { deleted: 1, missing: [] },
    ]);
    for (const [route = ''] of rows().filter(([cell = '']) => cell.includes(' /v1/'))) {
      expect(examples).toContain(`\nv1 ${route.replace(/^.*\/v1\//, '')}`);
    }
  });
});
