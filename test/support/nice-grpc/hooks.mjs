const OURS = new URL('../../../dist/grpc/server.js', import.meta.url).href;
const NICE_GRPC = new URL('./server.mjs', import.meta.url).href;

/** A hook of both kinds, see preload.mjs: what it answers may be a promise or not. */
export function resolve(specifier, context, nextResolve) {
  const isOurs = specifier.startsWith('.') && new URL(specifier, context.parentURL).href === OURS;
  return isOurs ? { url: NICE_GRPC, shortCircuit: true } : nextResolve(specifier, context);
}
