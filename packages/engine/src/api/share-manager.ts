import { defineResource, type KubeObject } from "@mooring/store";
import { MOORING_GROUP, MOORING_VERSION } from "./names.ts";

/** Cluster scoped, one per shared Volume and with its name: which node serves the volume, and for whom. */
export interface ShareManager extends KubeObject {
  spec: {
    /** The node that is to serve the volume; empty: nobody uses it. Written by the share service alone. */
    nodeID: string;
    /** Nodes whose workloads use the volume, in order. */
    users?: string[];
  };
  status?: ShareManagerStatus;
}

/** What the serving node's agent reports. */
export interface ShareManagerStatus {
  state: "stopped" | "starting" | "running" | "error";
  /** The node that serves it, or did last. */
  nodeID?: string;
  /** `nfs://10.0.0.5:20490/v-pool-uuid`: NFS version 4 over TCP; only while others than the serving node use it. The last one while the server is started again. */
  endpoint?: string;
  /** Bytes of the device that the file system fills. */
  size?: number;
  error?: { code: string; message: string };
}

/** Served at `/apis/storage.mooring.dev/v1alpha1/sharemanagers`. */
export const ShareManagers = defineResource<ShareManager>({
  group: MOORING_GROUP,
  version: MOORING_VERSION,
  kind: "ShareManager",
  plural: "sharemanagers",
  namespaced: false,
});
