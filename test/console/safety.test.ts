import { describe, expect, test } from 'vitest';
import { expectNoFault, go, HAS_NO_CHROMIUM, HOSTILE, TIMEOUT_MS, useConsole } from './open.js';

describe.skipIf(HAS_NO_CHROMIUM)('a page with a key in it', { timeout: TIMEOUT_MS }, () => {
  const here = useConsole();

  test('shows what points hold as text, and never as HTML', async () => {
    const metadata = { [HOSTILE]: HOSTILE, list: [HOSTILE] };
    const vector = [9, 9, 9, 9, 9, 9];
    const { ids } = await here.client.upsert([{ vector, content: HOSTILE, metadata }]);
    const [id = ''] = ids;
    const opened = await here.signIn('points');
    const { page } = opened;
    const isThere = async () =>
      await page.getByText(HOSTILE, { exact: true }).filter({ visible: true }).first().waitFor();
    await isThere();
    await page.getByRole('link', { name: id }).click();
    await page.getByRole('heading', { name: 'Point', exact: true }).waitFor();
    await isThere();
    await go(page, 'search');
    await page.getByLabel(/^Vector of/).fill(JSON.stringify(vector));
    await page.getByRole('button', { name: 'Search' }).click();
    await isThere();
    await go(page, 'map');
    await page.getByLabel('Colour by').selectOption(HOSTILE);
    await page.locator('ul.legend').getByText(HOSTILE).waitFor();
    expect(await page.locator('main img, main b').count()).toBe(0);
    expect(await page.title()).not.toBe('taken over');
    expectNoFault(opened);
    await here.client.delete(ids);
  });

  test('keeps the key nowhere but in memory, and sends it to no address', async () => {
    const opened = await here.open();
    const { page } = opened;
    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    await page.getByLabel('API key').fill(here.server.keys.readonly);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    const kept = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])';
    expect(await page.evaluate(kept)).toBe('[{},{},""]');
    expect(await page.context().cookies()).toEqual([]);
    expect(urls.join()).not.toContain(here.server.keys.readonly);
    expect(await page.content()).not.toContain(here.server.keys.readonly);
    await page.reload();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await page.getByLabel('API key').inputValue()).toBe('');
    expectNoFault(opened);
  });

  test('is left by signing out, after which nothing is asked', async () => {
    const opened = await here.signIn();
    const { page } = opened;
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    await page.waitForTimeout(3_000);
    expect(urls).toEqual([]);
    expectNoFault(opened);
  });

  test('may not run code of others, nor ask anybody else', async () => {
    const { page } = await here.open();
    const refused = (script: string) => page.evaluate(`(async () => { ${script} })()`);
    await expect(refused(`await fetch('http://127.0.0.1:9/')`)).rejects.toThrow('Failed to fetch');
    await expect(refused(`document.body.innerHTML = '<b>x</b>'`)).rejects.toThrow('TrustedHTML');
    const ran = await refused(`
      const script = document.createElement('script');
      try { script.textContent = 'window.ran = true'; document.body.append(script); } catch {}
      return window.ran ?? false;`);
    expect(ran).toBe(false);
  });
});
