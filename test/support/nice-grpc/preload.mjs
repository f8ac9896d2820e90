// `node --import` of this file has the service mount its gRPC services on nice-grpc's own server:
// server.mjs takes the place of dist/grpc/server.js, on each thread. Only tests load it.
import * as nodeModule from 'node:module';
import { resolve } from './hooks.mjs';

// Versions of Node.js before 22.15 have `register` alone, which later ones warn about.
if (nodeModule.registerHooks === undefined) nodeModule.register('./hooks.mjs', import.meta.url);
else nodeModule.registerHooks({ resolve });
