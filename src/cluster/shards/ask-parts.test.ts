import { expect, test } from 'vitest';
import { VectordError } from '../../core/errors.js';
import type { OnRequestEnd } from '../../core/request-end.js';
import { askParts } from './ask-parts.js';

const PARTS = [{ shard: 3 }, { shard: 5 }, { shard: 7 }];

/** A request whose end can be told. */
function request(): { onEnd: OnRequestEnd; end: () => void; listeners: (() => void)[] } {
  const listeners: (() => void)[] = [];
  return {
    listeners,
    onEnd: (listener) => listeners.push(listener),
    end: () => listeners.forEach((listener) => listener()),
  };
}

/** An answer that never comes, but for the end of its request. */
async function untilEnd(onEnd: OnRequestEnd): Promise<string> {
  return await new Promise((resolve) => onEnd(() => resolve('given up')));
}

test('all answer in their order', async () => {
  const { onEnd } = request();
  expect(await askParts(PARTS, onEnd, ({ shard }) => shard)).toEqual([3, 5, 7]);
  expect(await askParts([], onEnd, ({ shard }) => shard)).toEqual([]);
});

test('the end of the request, which has one listener, reaches all', async () => {
  const { onEnd, end, listeners } = request();
  const answer = askParts(PARTS, onEnd, async (_, ofPart) => await untilEnd(ofPart));
  expect(listeners).toHaveLength(1);
  end();
  expect(await answer).toEqual(['given up', 'given up', 'given up']);
  // It has come before there was anything to tell.
  const late = askParts(
    PARTS,
    (listener) => listener(),
    async (_, ofPart) => await untilEnd(ofPart),
  );
  expect(await late).toEqual(['given up', 'given up', 'given up']);
});

test('where one fails, nobody waits for the others', async () => {
  const ended: number[] = [];
  const asked = askParts(PARTS, request().onEnd, async ({ shard }, onEnd) => {
    if (shard === 5) throw new Error('broken');
    await untilEnd(onEnd);
    ended.push(shard);
  });
  await expect(asked).rejects.toThrow('broken');
  await Promise.resolve();
  expect(ended).toEqual([3, 7]);
});

test('the shard is named where it speaks of itself', async () => {
  const refuse = async (code: VectordError['code']): Promise<unknown> =>
    await askParts(PARTS, request().onEnd, ({ shard }) => {
      if (shard === 7) throw new VectordError(code, 'why');
      return shard;
    });
  await expect(refuse('UNAVAILABLE')).rejects.toMatchObject({ message: 'shard 7: why' });
  await expect(refuse('OVERLOADED')).rejects.toMatchObject({
    code: 'OVERLOADED',
    message: 'shard 7: why',
  });
  await expect(refuse('TOO_LARGE')).rejects.toMatchObject({ code: 'TOO_LARGE', message: 'why' });
});
