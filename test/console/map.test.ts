import { isDeepStrictEqual } from 'node:util';
import type { Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { expectNoFault, HAS_NO_CHROMIUM, POINTS, TIMEOUT_MS, useConsole } from './open.js';

describe.skipIf(HAS_NO_CHROMIUM)('the map of the console', { timeout: TIMEOUT_MS }, () => {
  const here = useConsole();

  const canvasOf = (page: Page) => page.getByRole('application', { name: 'Map of 75 points' });
  const selectionOf = (page: Page) => page.getByRole('region', { name: 'Selected point' });

  /** The id of the point that is selected. */
  async function selected(page: Page): Promise<string> {
    return await selectionOf(page).getByRole('link').innerText();
  }

  /** The pixels that are drawn on the map, of which there must be some. */
  async function drawn(page: Page): Promise<{ x: number; y: number }[]> {
    const pixels = `(() => {
      const canvas = document.querySelector('canvas');
      const { width, height } = canvas;
      const copy = new OffscreenCanvas(width, height).getContext('2d');
      copy.drawImage(canvas, 0, 0);
      const { data } = copy.getImageData(0, 0, width, height);
      const found = [];
      for (let at = 0; at < width * height; at += 1) {
        if (data[4 * at + 3] > 100) found.push({ x: at % width, y: Math.floor(at / width) });
      }
      return found;
    })()`;
    await canvasOf(page).waitFor();
    const read = async () => (await page.evaluate(pixels)) as { x: number; y: number }[];
    await expect.poll(async () => (await read()).length).toBeGreaterThan(75);
    return await read();
  }

  /** That the panel shows a point with its neighbours, as the service has them. */
  async function expectNeighbours(page: Page, similarity: 'Cosine' | 'Euclidean'): Promise<void> {
    const panel = selectionOf(page);
    await panel.getByRole('heading', { name: `Neighbours under ${similarity}` }).waitFor();
    const isRight = async (): Promise<boolean> => {
      const query = { like: await selected(page), similarity, limit: 10 } as const;
      const found = await here.client.search({ ...query, include: ['content'] });
      const contents = await panel.locator('li span:last-child').allInnerTexts();
      return isDeepStrictEqual(
        contents,
        found.map(({ content }) => content),
      );
    };
    await expect.poll(isRight).toBe(true);
  }

  test('a click selects a point, whose neighbours are shown under any similarity', async () => {
    const opened = await here.signIn('map');
    const { page } = opened;
    await page.getByText(/^75 points in the plane in which they differ most/).waitFor();
    const pixels = await drawn(page);
    const position = pixels[Math.floor(pixels.length / 2)];
    if (position === undefined) throw new Error('nothing is drawn');
    await canvasOf(page).click({ position });
    await expectNeighbours(page, 'Cosine');
    expect(POINTS.map(({ id }) => id)).toContain(await selected(page));
    await page.getByLabel('Similarity').selectOption('Euclidean');
    await expectNeighbours(page, 'Euclidean');

    const before = await selected(page);
    await selectionOf(page).getByRole('button').first().click();
    await expect.poll(async () => await selected(page)).not.toBe(before);
    await expectNeighbours(page, 'Euclidean');
    expectNoFault(opened);
  });

  test('the arrow keys go from point to point, and Escape selects none', async () => {
    const opened = await here.signIn('map');
    const { page } = opened;
    await drawn(page);
    await canvasOf(page).focus();
    await page.keyboard.press('Home');
    await expectNeighbours(page, 'Cosine');
    for (const key of ['ArrowRight', 'ArrowDown', 'ArrowLeft', 'ArrowUp']) {
      const before = await selected(page);
      await page.keyboard.press(key);
      await expect.poll(async () => await selected(page)).not.toBe(before);
      await expectNeighbours(page, 'Cosine');
    }
    await page.keyboard.press('Escape');
    await selectionOf(page).getByText('None yet.').waitFor();
    expectNoFault(opened);
  });

  test('its points have the colours of a field, and those of a filter are drawn alone', async () => {
    const opened = await here.signIn('map');
    const { page } = opened;
    await drawn(page);
    await page.getByLabel('Colour by').selectOption('cloud');
    const groups = page.locator('ul.legend li');
    await expect
      .poll(async () => (await groups.allInnerTexts()).toSorted())
      .toEqual(['cloud 0 25', 'cloud 1 25', 'cloud 2 25']);
    await page.getByLabel('Filter (JSON)').fill('{"number": {"$lt": 5}}');
    await page.getByRole('button', { name: 'Draw' }).click();
    await page.getByRole('application', { name: 'Map of 5 points' }).waitFor();
    await page.getByLabel('Filter (JSON)').fill('{"number": 1}');
    await page.getByRole('button', { name: 'Draw' }).click();
    await page.getByText(/^1 point passing the filter in the plane/).waitFor();
    await page.getByRole('application', { name: 'Map of 1 point', exact: true }).waitFor();
    await page.getByLabel('Filter (JSON)').fill('{"number": -1}');
    await page.getByRole('button', { name: 'Draw' }).click();
    await page.getByText('There are no such points.').waitFor();
    expectNoFault(opened);
  });

  test('draws a random sample where there are more points than it shows, and says of which', async () => {
    const points = (count: number) =>
      Array.from({ length: count }, (_, at) => ({
        vector: [at, 1, 2, 3, 4, 5],
        metadata: { more: at },
      }));
    onTestFinished(async () => {
      await here.client.deleteMatching({ more: { $exists: true } });
    });
    await here.client.upsert(points(2_001));
    const opened = await here.signIn('map');
    const { page } = opened;
    const draw = async (filter: string): Promise<void> => {
      await page.getByLabel('Filter (JSON)').fill(filter);
      await page.getByRole('button', { name: 'Draw' }).click();
    };
    await page.getByText(/^A random 2,000 of 2,076 points in the plane in which/).waitFor();
    await page.getByRole('application', { name: 'Map of 2,000 points' }).waitFor();
    await draw('{"more": {"$exists": true}}');
    await page.getByText(/^A random 2,000 of 2,001 points passing the filter in/).waitFor();
    await draw('{"more": {"$gt": 0}}');
    await page.getByText(/^2,000 points passing the filter in the plane/).waitFor();

    await here.client.bulk(points(98_000));
    await draw('');
    await page
      .getByText(/^A random 2,000 of the newest 100,000 of 100,076 points in the plane/)
      .waitFor();
    await page.getByRole('combobox', { name: 'Drawn from' }).selectOption('The oldest 100,000');
    await draw('');
    await page.getByText(/^A random 2,000 of the oldest 100,000 of 100,076 points in/).waitFor();
    expectNoFault(opened);
  });
});
