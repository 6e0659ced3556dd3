export * from "./api/attachment.ts";
export * from "./api/names.ts";
export * from "./api/node-agent.ts";
export * from "./api/pool.ts";
export * from "./api/snapshot.ts";
export * from "./api/volume.ts";
export * from "./errors.ts";
export type * from "./host/host.ts";
export type * from "./pools/backend.ts";
