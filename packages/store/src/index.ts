export * from "./kinds/kubernetes.ts";
export * from "./kinds/snapshot.ts";
export * from "./object/meta.ts";
export * from "./object/resource.ts";
export * from "./object/status-error.ts";
export * from "./object-store.ts";
export * from "./runtime/failpoint.ts";
export * from "./runtime/logger.ts";
