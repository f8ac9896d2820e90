export const GRPCURL_FOLDER: string;
export const VORTEXDB_FOLDER: string;
export const VORTEXDB_PYTHON: string;
export const SCHEMATHESIS_FOLDER: string;
export const SCHEMATHESIS: string;
export function findGrpcurl(): string | undefined;
