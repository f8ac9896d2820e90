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
    await page.getByLabel('Filter (JSON)').fill('{"number": -1}');
    await page.getByRole('button', { name: 'Draw' }).click();
    await page.getByText('There are no such points.').waitFor();
    expectNoFault(opened);
  });

  test('says which points it shows where there are more than it draws', async () => {
    const more = Array.from({ length: 2_001 }, (_, at) => ({
      vector: [at, 1, 2, 3, 4, 5],
      metadata: { more: at },
    }));
    await here.client.upsert(more);
    onTestFinished(async () => {
      await here.client.deleteMatching({ more: { $exists: true } });
    });
    const opened = await here.signIn('map');
    const { page } = opened;
    await page
      .getByText(/^The newest 2,000 of 2,076 points, not a sample of them, in the/)
      .waitFor();
    await page.getByRole('combobox', { name: 'Points' }).selectOption('The oldest 2,000');
    await page.getByLabel('Filter (JSON)').fill('{"more": {"$exists": true}}');
    await page.getByRole('button', { name: 'Draw' }).click();
    await page.getByText(/^The oldest 2,000 of 2,001 points that pass the filter, not/).waitFor();
    await page.getByLabel('Filter (JSON)').fill('{"more": {"$gt": 0}}');
    await page.getByRole('button', { name: 'Draw' }).click();
    await page.getByText(/^2,000 points that pass the filter in the plane/).waitFor();
    expectNoFault(opened);
  });
});
