export { type ClusterControllerOptions, runClusterController } from "./cluster/controller.ts";
export { type ClusterNode, type ClusterNodeOptions, startClusterNode } from "./cluster/node.ts";
export type { MooringNode, MooringNodeOptions } from "./node/options.ts";
export { startMooringNode } from "./node/start.ts";
export { RUNC_FOLDERS } from "./runtime/index.ts";
export type { Standalone, StandaloneOptions } from "./up/options.ts";
export { startStandalone } from "./up/start.ts";
