import { PointsServiceDefinition } from '../../gen/vectord/v1/points.js';

const { methods } = PointsServiceDefinition;

/** Messages pass as they are: what they hold is written and read elsewhere, vectors without a copy. */
const BYTES = {
  encode: (bytes: Uint8Array) => ({ finish: () => bytes }),
  decode: (bytes: Uint8Array): Uint8Array => bytes,
};

/** The generated definition of vectord.v1.PointsService over messages that are encoded. */
export const pointsServiceDefinition = {
  ...PointsServiceDefinition,
  methods: {
    upsert: inBytes(methods.upsert),
    get: inBytes(methods.get),
    search: inBytes(methods.search),
    scroll: inBytes(methods.scroll),
    scrollStream: inBytes(methods.scrollStream),
    count: inBytes(methods.count),
    delete: inBytes(methods.delete),
    update: inBytes(methods.update),
    info: inBytes(methods.info),
  },
} as const;

function inBytes<Method>(method: Method) {
  return { ...method, requestType: BYTES, responseType: BYTES };
}
