// Preloaded by `node --import`: the clock of the process is off by so many milliseconds.
import process from 'node:process';

const offMs = Number(process.env.VECTORD_CLOCK_OFF_MS);
const now = Date.now;

Date.now = () => now() + offMs;
globalThis.Date = new Proxy(Date, {
  construct: (target, args, made) =>
    Reflect.construct(target, args.length > 0 ? args : [Date.now()], made),
});
