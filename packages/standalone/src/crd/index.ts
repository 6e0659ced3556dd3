export { type CrdControllerOptions, startCrdController } from "./controller/index.ts";
export { customResourceDefinitions } from "./definition-kind.ts";
export { bundledCrds, installCrds } from "./install.ts";
export { KindChanges } from "./kind-changes.ts";
export { type CustomResourceDefinition, CustomResourceDefinitions } from "./types.ts";
