export { controllersHere } from "./controllers.ts";
export { ExecStartError } from "./exec-session.ts";
export { CAPABILITIES, DEFAULT_CAPABILITIES, ownCapabilities } from "./oci/capabilities.ts";
export { PIDS_LIMIT } from "./oci/resources.ts";
export { createProcessRuntime, type ProcessRuntimeOptions } from "./process-runtime.ts";
export { RUNC_FOLDERS } from "./runc.ts";
export type * from "./runtime.ts";
export type { ExecSession } from "./session.ts";
export { signalNumber } from "./stop-signal.ts";
