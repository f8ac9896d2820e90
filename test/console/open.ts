import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { connect, idFor, type Client, type NewPoint } from '../../src/client/node.js';
import { startServer, type TestServer } from '../support/server.js';
import { findChromium } from '../support/tools.mjs';

const installed = findChromium();

/** Why the tests in a browser are skipped, if they are. */
export const HAS_NO_CHROMIUM = installed === undefined;

/** A browser on a busy machine takes its time. */
export const TIMEOUT_MS = 60_000;

export const DIMENSION = 6;

/** What a mean client would store to become code in the page of somebody else. */
export const HOSTILE = '<img src=x onerror="document.title=\'taken over\'"><b>bold</b>';

/** Three clouds of 25 points each, and some metadata. */
export const POINTS: readonly NewPoint[] = Array.from({ length: 75 }, (_, at) => {
  const cloud = at % 3;
  const vector = Array.from({ length: DIMENSION }, (_unused, i) =>
    Math.fround((i % 3 === cloud ? 4 : 0) + Math.sin(at * (i + 1)) + 0.1),
  );
  const metadata = { cloud: `cloud ${cloud}`, number: at };
  return { id: idFor(`point ${at}`), vector, content: `text ${at}`, metadata };
});

/** A page that is open, and what it did that it must not do. */
export interface Opened {
  readonly page: Page;
  readonly faults: readonly string[];
}

/** A service with points, and a browser that opens its console. */
export function useConsole() {
  let browser: Browser | undefined;
  let server: TestServer | undefined;
  let client: Client | undefined;

  beforeAll(async () => {
    if (installed === undefined) return;
    browser = await chromium.launch(installed);
    server = await startServer({ dimension: DIMENSION });
    client = connect(server.http, { key: server.keys.readwrite });
    await client.upsert(POINTS);
  }, TIMEOUT_MS);

  afterAll(async () => {
    client?.close();
    await browser?.close();
  });

  const here = {
    get server(): TestServer {
      return there(server);
    },
    get client(): Client {
      return there(client);
    },
    /** Opens the page without a key. */
    async open(path = '/console', options: BrowserContextOptions = {}): Promise<Opened> {
      const context = await there(browser).newContext(options);
      const page = await context.newPage();
      const faults = watch(page, here.server.http);
      await page.goto(here.server.http + path);
      return { page, faults };
    },
    /** Opens a place of the page, with the key that may only read. */
    async signIn(place = 'overview', options: BrowserContextOptions = {}): Promise<Opened> {
      const opened = await here.open('/console', options);
      await typeKey(opened.page, here.server.keys.readonly);
      await opened.page.getByRole('heading', { name: 'Overview' }).waitFor();
      if (place !== 'overview') await go(opened.page, place);
      return opened;
    },
  };
  return here;
}

export async function typeKey(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Follows a link of the navigation. */
export async function go(page: Page, place: string): Promise<void> {
  await page
    .getByRole('navigation', { name: 'Console' })
    .getByRole('link', { name: place, exact: false })
    .click();
  await page.getByRole('heading', { level: 1, name: new RegExp(place, 'i') }).waitFor();
}

/** Notes what a page complains of, and what it asks of anybody but its service. */
function watch(page: Page, origin: string): string[] {
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(`threw: ${error.message}`));
  page.on('dialog', (dialog) => {
    faults.push(`asked: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const url = request.url();
    const isOwn = url.startsWith(`${origin}/`) || url.startsWith('data:');
    if (!isOwn) faults.push(`requested: ${url}`);
  });
  page.on('console', (message) => {
    // A refused key is one that the test has typed.
    const isRefusal = message.text().includes('status of 4');
    if (message.type() !== 'log' && !isRefusal) faults.push(`said: ${message.text()}`);
  });
  return faults;
}

/** Nothing that it must not do, and no violation of its policy, which Chromium logs as an error. */
export function expectNoFault({ faults }: Opened): void {
  expect(faults).toEqual([]);
}

function there<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('beforeAll has not run');
  return value;
}
