export const GRPCURL_FOLDER: string;
export const VORTEXDB_FOLDER: string;
export const VORTEXDB_PYTHON: string;
export function findGrpcurl(): string | undefined;
