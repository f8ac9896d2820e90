import { expect, vi } from 'vitest';
import type { TestServer } from './server.js';

/** Waits until requests hold at least so many bytes of MAX_INFLIGHT_BYTES; 0 is until none do. */
export async function untilInflight(server: TestServer, bytes: number): Promise<void> {
  await vi.waitFor(async () => {
    const headers = { 'api-key': server.keys.readonly };
    const metrics = await (await fetch(`${server.http}/metrics`, { headers })).text();
    const held = Number(/^vectord_inflight_bytes (\d+)$/m.exec(metrics)?.[1]);
    if (bytes === 0) expect(held).toBe(0);
    else expect(held).toBeGreaterThanOrEqual(bytes);
  }, 10_000);
}
