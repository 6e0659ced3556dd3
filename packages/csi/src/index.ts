export type { CallContext } from "./calls/context.ts";
export type { Call, CallResponse, Interceptor, Next } from "./calls/interceptor.ts";
export { logCalls } from "./calls/log-calls.ts";
export type { ExtraCapabilities } from "./capabilities/derive.ts";
export { awaitServer } from "./client/await-server.ts";
export { type ConnectOptions, connect } from "./client/connect.ts";
export type { CsiClient } from "./client/csi-client.ts";
export { type ProbeOptions, probeUntilReady } from "./client/probe.ts";
export type { RetryPolicy } from "./client/retry.ts";
export { Code, type CodeName, codeName, toCode } from "./errors/codes.ts";
export { CsiError, type CsiErrorOptions, NOTHING_MADE } from "./errors/csi-error.ts";
export type { FieldViolation } from "./errors/details.ts";
export { toCsiError } from "./errors/status.ts";
export * as v0 from "./gen/csi/v0/csi_pb.ts";
export * as v1 from "./gen/csi/v1/csi_pb.ts";
export * as addons from "./gen/identity/identity_pb.ts";
export * as snapshotmetadata from "./gen/snapshotmetadata/snapshotmetadata_pb.ts";
export * as volumegroup from "./gen/volumegroup/volumegroup_pb.ts";
export { type Logger, silentLogger } from "./log/logger.ts";
export { REDACTED, redact } from "./log/redact.ts";
export { type CallMetrics, type CallMetricsOptions, callMetrics } from "./metrics/call-metrics.ts";
export { Histogram } from "./metrics/histogram.ts";
export type { Observe } from "./metrics/observe.ts";
export { type ProcessMetrics, processMetrics } from "./metrics/process-metrics.ts";
export { type MetricsServer, serveMetrics } from "./metrics/serve-metrics.ts";
export {
  METRICS_CONTENT_TYPE,
  type MetricFamily,
  type MetricSample,
  metricsText,
} from "./metrics/text.ts";
export { claimsOf } from "./operations/claims.ts";
export { fingerprint } from "./operations/fingerprint.ts";
export { type Claim, type Mode, type Operation, OperationLocks } from "./operations/locks.ts";
export { type SingleFlightOptions, singleFlight } from "./operations/single-flight.ts";
export { connectRegistration, type RegistrationClient } from "./registration/connect.ts";
export { type RegistrationOptions, serveRegistration } from "./registration/serve.ts";
export { createServer, type ServerOptions } from "./server/create-server.ts";
export type { CsiServer } from "./server/on-socket.ts";
export { connectSnapshotMetadata, type SnapshotMetadataClient } from "./snapshot-metadata/connect.ts";
export {
  type CertifiedKey,
  type SnapshotMetadataServer,
  type SnapshotMetadataServerOptions,
  serveSnapshotMetadata,
} from "./snapshot-metadata/serve.ts";
export { endpointFromEnvironment, socketPath } from "./sockets/endpoint.ts";
export { inItsVersion, throughV0 } from "./v0/client.ts";
export { checkMessage } from "./validation/check-message.ts";
export { validateRequests } from "./validation/validate.ts";
export { validateResponses } from "./validation/validate-responses.ts";
export type { Services } from "./wire/handlers.ts";
export type {
  CallOptions,
  Handlers,
  ServiceClient,
  StreamHandler,
  UnaryHandler,
} from "./wire/method-types.ts";
export { type ServiceName, services, servicesV0 } from "./wire/services.ts";
