import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { idFor } from '../../src/client/node.js';
import {
  expectNoFault,
  go,
  HAS_NO_CHROMIUM,
  POINTS,
  typeKey,
  TIMEOUT_MS,
  useConsole,
} from './open.js';

describe.skipIf(HAS_NO_CHROMIUM)('the console in a browser', { timeout: TIMEOUT_MS }, () => {
  const here = useConsole();

  /** The cells of a column of the only table that is to be seen. */
  async function column(page: Page, at: number): Promise<string[]> {
    const cells = page.locator(`main table:visible tbody tr > :nth-child(${at})`);
    return await cells.allInnerTexts();
  }

  test('says what is wrong with a key, and opens with one that is right', async () => {
    const opened = await here.open();
    const { page } = opened;
    await typeKey(page, 'a-key-that-nobody-has');
    const alert = page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.innerText()).toContain('UNAUTHENTICATED');
    expect(await alert.innerText()).toContain('Sign in with a key of the keys file');
    await typeKey(page, here.server.keys.readonly);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(await page.title()).toBe('Overview · vectord console');
    expectNoFault(opened);
  });

  test('tells what the service is, holds and bounds, at both of its paths', async () => {
    for (const path of ['/console', '/console/']) {
      const opened = await here.open(path);
      const { page } = opened;
      await typeKey(page, here.server.keys.readonly);
      const facts = page.locator('.facts');
      await facts.getByText('Ready').waitFor();
      const info = await here.client.info();
      const text = await facts.innerText();
      expect(text).toContain(info.version);
      expect(text).toMatch(/Points\n75\n/);
      expect(text).toContain(`of ${info.dimension} dimensions`);
      expect(text).toMatch(/up \d+ (?:s|min)/);
      expect(text).toMatch(/Memory\n[\d.]+ MiB/);
      const limits = await page.getByRole('region', { name: 'Limits' }).innerText();
      expect(limits).toMatch(/Items of a batch\s+100,000/);
      expectNoFault(opened);
      await page.context().close();
    }
  });

  test('draws what the service does, as it does it', async () => {
    const opened = await here.signIn();
    const { page } = opened;
    const chart = page.getByRole('figure').filter({ hasText: 'Requests a second' });
    const line = chart.locator('path.line').first();
    // Requests go on until the chart has them.
    await expect
      .poll(
        async () => {
          await here.client.search({ vector: [1, 2, 3, 4, 5, 6], similarity: 'Cosine', limit: 1 });
          return [await line.getAttribute('d'), await chart.locator('dd').first().innerText()];
        },
        { timeout: 20_000 },
      )
      .toEqual([expect.stringContaining('L'), expect.stringMatching(/^(?!0$)[\d.,]+$/)]);
    const operations = page.getByRole('region', { name: 'Operations' });
    await operations.getByText('HTTP POST /v1/points/search').waitFor();
    expect(await operations.innerText()).not.toContain('/metrics');
    await chart.locator('svg').hover();
    await chart.getByText(/\d+ s ago/).waitFor();
    expectNoFault(opened);
  });

  test('lists points a page at a time, those that pass a filter, and their vectors', async () => {
    const opened = await here.signIn('points');
    const { page } = opened;
    await page.getByText('75 points').waitFor();
    const contents = POINTS.map(({ content }) => content).toReversed();
    await expect.poll(async () => await column(page, 2)).toEqual(contents.slice(0, 50));
    await page.getByRole('button', { name: 'Next' }).click();
    await expect.poll(async () => await column(page, 2)).toEqual(contents.slice(50));
    await page.getByRole('button', { name: 'Previous' }).click();
    await page.getByText('Page 1').waitFor();

    await page.getByLabel('Filter (JSON)').fill('{"cloud": "cloud 1", "number": {"$lt": 9}}');
    await page.getByLabel('Order').selectOption('Oldest first');
    await page.getByLabel('Vectors').check();
    await page.getByRole('button', { name: 'List' }).click();
    await page.getByText('3 points pass the filter', { exact: true }).waitFor();
    await expect.poll(async () => await column(page, 2)).toEqual(['text 1', 'text 4', 'text 7']);
    expect((await column(page, 3))[0]).toMatch(/^cloud\s+cloud 1\s+number\s+1$/);
    const start = Array.from(POINTS[1]?.vector ?? [], (value) => Number(value.toPrecision(4)));
    expect((await column(page, 4))[0]).toBe(`[${start.join(', ')}]`);
    await page.getByLabel('Filter (JSON)').fill('{"number": 1}');
    await page.getByRole('button', { name: 'List' }).click();
    await page.getByText('1 point passes the filter', { exact: true }).waitFor();
    expectNoFault(opened);
  });

  test('tells in full why a filter cannot be used', async () => {
    const opened = await here.signIn('points');
    const { page } = opened;
    const alert = page.getByRole('alert');
    await page.getByLabel('Filter (JSON)').fill('{"cloud": ');
    await page.getByRole('button', { name: 'List' }).click();
    expect(await alert.innerText()).toContain('The filter is no JSON');
    expect(await alert.innerText()).toContain('Expected one such as {');
    await page.getByLabel('Filter (JSON)').fill('{"number": {"$gt": true}}');
    await page.getByRole('button', { name: 'List' }).click();
    await alert.getByText('INVALID_ARGUMENT').waitFor();
    expect(await alert.innerText()).toContain('filter.number.$gt is true, expected');
    expect(await alert.innerText()).toContain('Mend what the message names');
    expectNoFault(opened);
  });

  test('finds the neighbours of a vector and of a point, and keeps them while a point is shown', async () => {
    const opened = await here.signIn('search');
    const { page } = opened;
    const [first] = POINTS;
    if (first?.id === undefined) throw new Error('no points');
    const { vector, id } = first;
    const field = page.getByLabel(/^Vector of 6 numbers/);
    const search = page.getByRole('button', { name: 'Search' });

    await field.fill(JSON.stringify(Array.from(vector)));
    await page.getByLabel('Similarity').selectOption('Manhattan');
    await page.getByLabel('Limit', { exact: true }).fill('4');
    await page.getByLabel('Exact').check();
    await page.getByLabel('Filter (JSON)').fill('{"cloud": {"$ne": "cloud 0"}}');
    await search.click();
    const filter = { cloud: { $ne: 'cloud 0' } };
    const byVector = { vector, similarity: 'Manhattan', limit: 4, exact: true, filter } as const;
    const found = await here.client.search(byVector);
    await expect.poll(async () => await column(page, 5)).toEqual(found.map((one) => one.id));
    const distances = found.map(({ distance = NaN }) => String(Number(distance.toPrecision(6))));
    expect(await column(page, 2)).toEqual(distances);

    await field.fill(id.toUpperCase());
    await page.getByLabel('Filter (JSON)').fill('');
    await page.getByLabel('ef').fill('50');
    await search.click();
    const query = { like: id, similarity: 'Manhattan', limit: 4 } as const;
    const alike = (await here.client.search(query)).map((one) => one.id);
    await expect.poll(async () => await column(page, 5)).toEqual(alike);
    // The id of which that of the point was made.
    await field.fill('"point 0"');
    await page.getByLabel('Limit', { exact: true }).fill('3');
    await search.click();
    await expect.poll(async () => await column(page, 5)).toEqual(alike.slice(0, 3));

    await page.getByRole('link', { name: alike[0] ?? '' }).click();
    await page.getByRole('heading', { name: 'Point', exact: true }).waitFor();
    await page.getByText('Closest first under Manhattan').filter({ visible: true }).waitFor();
    await page.goBack();
    expect(await column(page, 5)).toEqual(alike.slice(0, 3));
    expectNoFault(opened);
  });

  test('says what it expects where a search cannot be read', async () => {
    const opened = await here.signIn('search');
    const { page } = opened;
    await page.getByLabel(/^Vector of 6 numbers/).fill('[1, 2, 3]');
    await page.getByRole('button', { name: 'Search' }).click();
    expect(await page.getByRole('alert').innerText()).toContain(
      'The vector has 3 numbers. The vectors of this service have 6.',
    );
    expectNoFault(opened);
  });

  test('a new search replaces the last answer and the last error, wherever it fails', async () => {
    const opened = await here.signIn('search');
    const { page } = opened;
    const field = page.getByLabel(/^Vector of 6 numbers/);
    const alert = page.getByRole('alert');
    const search = async (text: string): Promise<void> => {
      await field.fill(text);
      await page.getByRole('button', { name: 'Search' }).click();
    };
    const found = page.getByText(/^10 found in/);
    const table = page.getByText('Closest first under Cosine');

    await search('"point 0"');
    await found.waitFor();
    await search('[1,,2,3,4,5]');
    await alert.getByText('The vector is no JSON').waitFor();
    expect([await found.count(), await table.count()]).toEqual([0, 0]);

    await search('"point 1"');
    await found.waitFor();
    expect(await alert.count()).toBe(0);

    await search('"doc-17"');
    await alert
      .getByText(`There is no point with the id "doc-17" (${idFor('doc-17')}).`, { exact: true })
      .waitFor();
    expect([await found.count(), await table.count()]).toEqual([0, 0]);

    await search('""');
    await alert.getByText('The id in quotes is empty').waitFor();
    expect(await alert.count()).toBe(1);

    const nobody = '00000000-0000-4000-8000-000000000009';
    await search(nobody);
    await alert.getByText(`There is no point with the id ${nobody}.`, { exact: true }).waitFor();
    expect(await alert.count()).toBe(1);
    expectNoFault(opened);
  });

  test('shows a point with its metadata, its vector and its neighbours under any similarity', async () => {
    const opened = await here.signIn('points');
    const { page } = opened;
    const [, second] = POINTS;
    if (second?.id === undefined) throw new Error('no points');
    await page.goto(`${here.server.http}/console#/points/${second.id}`);
    await page.getByText('text 1', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Show the vector' }).click();
    const shown = await page.getByLabel('Vector as JSON').inputValue();
    expect(JSON.parse(shown)).toEqual(Array.from(second.vector));
    for (const similarity of ['Euclidean', 'Hamming'] as const) {
      await page.getByLabel('Similarity').selectOption(similarity);
      const query = { like: second.id, similarity, limit: 10 } as const;
      const found = (await here.client.search(query)).map(({ id }) => id);
      await expect.poll(async () => await column(page, 5)).toEqual(found);
    }
    await page.goto(`${here.server.http}/console#/points/${second.id.replace(/^./, '0')}`);
    await page.getByRole('alert').getByText('There is no point of this id').waitFor();
    expectNoFault(opened);
  });

  test('tells when the service does not answer any more', async () => {
    const opened = await here.signIn();
    const { page } = opened;
    await page.route('**/v1/info', async (route) => await route.abort());
    await page.getByRole('status').getByText('No answer').waitFor();
    expect(await page.getByRole('alert').innerText()).toContain('CONNECTION_LOST');
    await page.unroute('**/v1/info');
    await page.getByRole('status').getByText('Ready').waitFor();
    await go(page, 'points');
    await page.getByText('75 points').waitFor();
  });
});
