import { consoleFile } from './console-files.js';
import type { Context } from './context.js';
import type { HttpOptions } from './options.js';
import type { Route } from './router.js';

/**
 * What the page may do: load its own script and style, and ask this service. What a point holds
 * cannot become code, as no text is ever taken as HTML.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const HTML = 'text/html; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';

/** The routes of the console, a page for browsers. Its files hold no data, and need no key. */
export function consoleRoutes({ hasConsole }: HttpOptions): readonly Route[] {
  if (!hasConsole) return [];
  const page = answering('index.html', HTML);
  return [
    // Both answer the page itself: behind a proxy, nobody knows where a redirect would lead.
    { method: 'GET', path: '/console', access: 'open', handle: page },
    { method: 'GET', path: '/console/', access: 'open', handle: page },
    asset('console.js', JAVASCRIPT),
    asset('console.css', CSS),
  ];
}

function asset(name: string, type: string): Route {
  const path = `/console/assets/${name}`;
  return { method: 'GET', path, access: 'open', handle: answering(name, type) };
}

function answering(name: string, type: string): (ctx: Context) => Promise<void> {
  const read = consoleFile(name);
  return async (ctx) => {
    const { plain, gzipped, etag } = await read();
    ctx.set({
      'Content-Type': type,
      'Content-Security-Policy': CONTENT_SECURITY_POLICY,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      // Asked for again each time, so that an upgrade of the service upgrades the page.
      'Cache-Control': 'no-cache',
      ETag: etag,
    });
    ctx.vary('Accept-Encoding');
    ctx.status = 200;
    if (ctx.fresh) {
      ctx.status = 304;
      return;
    }
    const isGzipped = ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
    if (isGzipped) ctx.set('Content-Encoding', 'gzip');
    ctx.body = isGzipped ? gzipped : plain;
  };
}
