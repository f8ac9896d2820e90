// Takes the pictures of docs/CONSOLE.md in a Chromium: a service with the embeddings of the demo, and
// a while of requests, so that its charts have something to show.
//
// Usage: npm run console:screenshots [-- SECONDS [FOLDER]]    75 and docs/console unless told otherwise
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { readBase } from '../examples/demo/embeddings.mjs';
import { startServer } from '../examples/demo/server.mjs';
import { findChromium } from '../test/support/tools.mjs';
import { connect, idFor } from '../dist/client/node.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const [seconds = '75', folder = join(ROOT, 'docs/console')] = process.argv.slice(2);
const target = resolve(folder);

const VIEWPORT = { width: 1240, height: 800 };
const WEBP_QUALITY = 55;

const installed = findChromium();
if (installed === undefined) {
  console.error('There is no Chromium: install one, or name it by CHROME_PATH.');
  process.exit(1);
}
const base = readBase(join(ROOT, 'examples/demo/data'));
const server = await startServer({ dimension: base.dimension });
const browser = await chromium.launch(installed);
try {
  mkdirSync(target, { recursive: true });
  const client = connect(server.http, { key: server.key });
  await client.bulk(base.texts.map((_, row) => pointOf(row)));
  const page = await signIn();
  await makeTraffic(client, Number(seconds) * 1000);
  await take(page, 'overview');
  await takeMap(page);
  client.close();
} finally {
  await browser.close();
  await server.stop();
}

/** The embedding of a row with its text; what its package is for is told by its name. */
function pointOf(row) {
  const content = base.texts[row];
  const [name] = content.split(/[\s:]/, 1);
  const metadata = { package: name, kind: kindOf(name), words: content.split(/\s+/).length };
  return { id: idFor(String(row)), vector: base.vector(row), content, metadata };
}

function kindOf(name) {
  const kinds = [
    [/-(?:doc|docs|manual)$/, 'documentation'],
    [/^(?:fonts|ttf)-/, 'fonts'],
    [/^(?:python3?|golang|ruby|node|r-|librust|libghc)/, 'language'],
    [/-perl$|-java$/, 'language'],
    [/-dev$/, 'development'],
    [/^lib/, 'library'],
  ];
  return kinds.find(([pattern]) => pattern.test(name))?.[1] ?? 'program';
}

async function signIn() {
  const page = await browser.newPage({ viewport: VIEWPORT, colorScheme: 'light' });
  await page.goto(`${server.http}/console`);
  await page.getByLabel('API key').fill(server.key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  return page;
}

/** Searches, reads and writes, now more and now less. */
async function makeTraffic(client, durationMs) {
  const startedAtMs = performance.now();
  for (let round = 0; performance.now() - startedAtMs < durationMs; round += 1) {
    const [row, like] = [round % base.texts.length, idFor(String((round * 7) % base.texts.length))];
    const similarity = round % 5 === 0 ? 'Euclidean' : 'Cosine';
    const filter = round % 3 === 0 ? { kind: 'library' } : undefined;
    await client.search({ like, similarity, limit: 10, filter });
    if (round % 4 === 0) await client.upsert([{ ...pointOf(row), id: idFor(`copy ${row}`) }]);
    if (round % 6 === 0) await client.get([like]);
    const pauseMs = 25 + 20 * Math.sin(performance.now() / 20_000);
    await new Promise((wake) => setTimeout(wake, pauseMs));
  }
}

async function takeMap(page) {
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.getByRole('link', { name: 'Map' }).click();
  await page.locator('canvas').waitFor();
  await page.getByLabel('Colour by').selectOption('kind');
  await page.locator('canvas').press('Home');
  await page.getByRole('heading', { name: /^Neighbours under/ }).waitFor();
  await page.evaluate('window.scrollTo(0, 0)');
  await take(page, 'map');
}

/** WebP, which playwright itself does not write. */
async function take(page, name) {
  const session = await page.context().newCDPSession(page);
  const how = { format: 'webp', quality: WEBP_QUALITY };
  const { data } = await session.send('Page.captureScreenshot', how);
  const bytes = Buffer.from(data, 'base64');
  const path = join(target, `${name}.webp`);
  writeFileSync(path, bytes);
  console.log(`${path}: ${bytes.length} bytes`);
}
