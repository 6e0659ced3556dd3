export type { KubeletStreams, LogRequest } from "./api.ts";
export * from "./kind-info.ts";
export { type ApiServer, type ApiServerOptions, startApiServer } from "./start.ts";
export { age } from "./table/age.ts";
