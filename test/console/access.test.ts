import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { expectNoFault, go, HAS_NO_CHROMIUM, POINTS, TIMEOUT_MS, useConsole } from './open.js';

const SCHEMES = ['light', 'dark'] as const;

/** What axe finds against WCAG 2.2 at level AA. */
async function violations(page: Page): Promise<string[]> {
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  await page.evaluate(axe.source);
  const found = await page.evaluate(`axe.run({ runOnly: ${JSON.stringify(tags)} })`);
  return (found as axe.AxeResults).violations.map(
    ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join()}`,
  );
}

describe.skipIf(HAS_NO_CHROMIUM)('the console for everyone', { timeout: TIMEOUT_MS }, () => {
  const here = useConsole();

  test.each(SCHEMES)('has no fault that axe knows of, in the %s', async (colorScheme) => {
    const { page } = await here.open('/console', { colorScheme });
    await page.getByLabel('API key').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel('API key').fill(here.server.keys.readonly);
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('Ready').waitFor();
    expect(await violations(page)).toEqual([]);
    await go(page, 'points');
    await page.getByText('75 points').waitFor();
    expect(await violations(page)).toEqual([]);
    await go(page, 'search');
    await page.getByLabel(/^Vector of/).fill(POINTS[0]?.id ?? '');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('row').nth(1).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel(/^Vector of/).fill('nothing');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('alert').waitFor();
    expect(await violations(page)).toEqual([]);
    await go(page, 'map');
    await page.getByRole('application').press('Home');
    await page.getByRole('heading', { name: /^Neighbours under/ }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('region', { name: 'Selected point' }).getByRole('link').click();
    await page.getByRole('caption').waitFor();
    expect(await violations(page)).toEqual([]);
  });

  test('is dark for those who prefer that, and changes with them', async () => {
    const opened = await here.signIn('overview', { colorScheme: 'light' });
    const { page } = opened;
    const background = 'getComputedStyle(document.body).backgroundColor';
    const brightness = async (): Promise<number> => {
      const colour = String(await page.evaluate(background));
      return Math.max(...Array.from(colour.matchAll(/\d+/g), ([value]) => Number(value)));
    };
    expect(await brightness()).toBeGreaterThan(200);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(brightness).toBeLessThan(60);
    expectNoFault(opened);
  });

  test('can be used by the keyboard alone', async () => {
    const opened = await here.open();
    const { page } = opened;
    const tabTo = async (name: string): Promise<void> => {
      const focused = `document.activeElement.textContent + document.activeElement.ariaLabel`;
      for (let presses = 0; presses < 40; presses += 1) {
        if (String(await page.evaluate(focused)).startsWith(name)) return;
        await page.keyboard.press('Tab');
      }
      throw new Error(`Tab does not lead to ${name}`);
    };
    const waitForFocus = async (): Promise<void> => {
      await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('main');
    };
    await page.getByLabel('API key').waitFor();
    // The field has the focus already.
    await page.keyboard.type(here.server.keys.readonly);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();

    await tabTo('Skip to the content');
    await page.keyboard.press('Enter');
    await waitForFocus();

    await tabTo('Search');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Search' }).waitFor();
    await waitForFocus();
    await page.keyboard.press('Tab');
    await page.keyboard.type(POINTS[3]?.id ?? '');
    await tabTo('Search');
    await page.keyboard.press('Enter');
    await page.getByText(/^10 found/).waitFor();

    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Point', exact: true }).waitFor();
    await waitForFocus();
    expectNoFault(opened);
  });

  test('fits on a small screen', async () => {
    const { page } = await here.signIn('overview', { viewport: { width: 360, height: 740 } });
    for (const place of ['points', 'search', 'map', 'overview']) {
      await go(page, place);
      const width = await page.evaluate('document.documentElement.scrollWidth');
      expect(width, place).toBe(360);
    }
  });
});
