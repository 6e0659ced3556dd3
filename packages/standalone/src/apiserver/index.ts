export { age } from "../kinds/age.ts";
export * from "../kinds/kind-info.ts";
export type { KubeletStreams, LogRequest } from "./api.ts";
export { type ApiServer, type ApiServerOptions, startApiServer } from "./start.ts";
