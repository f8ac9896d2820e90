import type { TestServer } from './server.js';

/** How many points a service says that it has: what was refused must not be among them. */
export async function countPoints({ http, keys }: TestServer): Promise<number> {
  const headers = { 'api-key': keys.readonly };
  const metrics = await (await fetch(`${http}/metrics`, { headers })).text();
  return Number(/^vectord_points (\d+)$/m.exec(metrics)?.[1]);
}
