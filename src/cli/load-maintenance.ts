import { requireAddon } from '../engine/addon.js';

/** Imports what needs the addon once it is known to load: an import cannot say what to do. */
export async function loadMaintenance(): Promise<typeof import('./maintain.js')> {
  requireAddon();
  return await import('./maintain.js');
}
