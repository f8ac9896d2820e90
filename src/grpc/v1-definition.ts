import { CountResponse, PointsServiceDefinition } from '../gen/vectord/v1/points.js';
import {
  writeChanged,
  writeFound,
  writeGot,
  writePage,
  writeUpserted,
} from '../wire/protobuf/v1/write-answers.js';
import { writeInfo } from '../wire/protobuf/v1/write-info.js';
import { AS_IT_CAME, writing, writingPoints } from './codec.js';

const { methods } = PointsServiceDefinition;

/**
 * The generated definition of vectord.v1.PointsService with our own codec in it, see definition.ts:
 * all requests stay as they came, since the generated code would pass over unknown fields.
 */
export const pointsServiceDefinition = {
  ...PointsServiceDefinition,
  methods: {
    upsert: answered(methods.upsert, writingPoints(writeUpserted)),
    upsertStream: answered(methods.upsertStream, writingPoints(writeUpserted)),
    get: answered(methods.get, writingPoints(writeGot)),
    search: answered(methods.search, writingPoints(writeFound)),
    scroll: answered(methods.scroll, writingPoints(writePage)),
    scrollStream: answered(methods.scrollStream, writingPoints(writePage)),
    count: answered(methods.count, writing(CountResponse.encode)),
    delete: answered(methods.delete, writingPoints(writeChanged)),
    update: answered(methods.update, writingPoints(writeChanged)),
    info: answered(methods.info, writing(writeInfo)),
  },
} as const;

/** A method whose request is read by its handler. */
function answered<Method, Response>(method: Method, responseType: Response) {
  return { ...method, requestType: AS_IT_CAME, responseType };
}
