import { ServerReflectionService } from 'nice-grpc-server-reflection';
import * as wire from '../../support/wire.js';

const { requestDeserialize, responseDeserialize } = ServerReflectionService.serverReflectionInfo;

/** A ServerReflectionRequest with `list_services`, of which the library exports no constructor. */
export const LIST_SERVICES = requestDeserialize(wire.delimited(7, ''));

export function namesOf(response: ReturnType<typeof responseDeserialize>): string[] {
  const services = response.getListServicesResponse()?.getServiceList() ?? [];
  return services.map((service) => service.getName());
}
