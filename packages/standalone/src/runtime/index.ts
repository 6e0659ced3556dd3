export { createProcessRuntime, type ProcessRuntimeOptions } from "./process-runtime.ts";
export type * from "./runtime.ts";
