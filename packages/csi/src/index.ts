export { type ConnectOptions, type CsiClient, connect } from "./client/connect.ts";
export { Code, type CodeName, codeName, toCode } from "./errors/codes.ts";
export { CsiError, type CsiErrorOptions } from "./errors/csi-error.ts";
export { toCsiError } from "./errors/status.ts";
export * as v0 from "./gen/csi/v0/csi_pb.ts";
export * as v1 from "./gen/csi/v1/csi_pb.ts";
export * as addons from "./gen/identity/identity_pb.ts";
export * as volumegroup from "./gen/volumegroup/volumegroup_pb.ts";
export { type Logger, silentLogger } from "./log/logger.ts";
export type { Invoke, ServerAnswer, ServerCall, ServerInterceptor } from "./server/call.ts";
export type { CallContext } from "./server/context.ts";
export {
  type CsiServer,
  type CsiServices,
  createServer,
  type ServerOptions,
} from "./server/create-server.ts";
export { endpointFromEnvironment, socketPath } from "./sockets/endpoint.ts";
export type {
  CallOptions,
  Handlers,
  ServiceClient,
  StreamHandler,
  UnaryHandler,
} from "./wire/method-types.ts";
export { type ServiceName, services, servicesV0 } from "./wire/services.ts";
