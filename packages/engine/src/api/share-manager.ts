import { defineResource, type KubeObject } from "@mooring/store";
import { MOORING_GROUP, MOORING_VERSION } from "./names.ts";

/** Cluster scoped, one per shared Volume and with its name: which node serves the volume, and for whom. */
export interface ShareManager extends KubeObject {
  spec: {
    /** The node that is to serve the volume; empty: no node uses it. Only the share service writes it. */
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
  /**
   * `nfs://10.0.0.5:20490/v-pool-uuid`: NFS version 4 over TCP; only while others than the serving node use it. The last
   * one while the server is started again.
   */
  endpoint?: string;
  /** Nodes that the server lets in; absent: none, or an agent of an earlier version does not report it. */
  users?: string[];
  /** Nodes that use it, or would, over a network that is not trusted, or from an address that is not known. */
  untrusted?: UntrustedUser[];
  /** Bytes of the device that the file system fills. */
  size?: number;
  error?: { code: string; message: string };
}

/** A node with a ticket whose way to the serving node is neither trusted nor encrypted, or not known. */
export interface UntrustedUser {
  nodeID: string;
  /** IPv4, as its agent reports it; absent: it has reported none. */
  address?: string;
  /** False: it was let in before, by an earlier version or other options, and stays in until its workloads end. */
  refused: boolean;
  /** One sentence: which addresses, and what an operator can do. */
  message: string;
}

/** Why a node may not have the volume over the network; undefined: it may, as far as is known. */
export function refusalOf(share: ShareManager | undefined, nodeID: string): UntrustedUser | undefined {
  const { state, nodeID: server, untrusted = [] } = share?.status ?? {};
  // What another node has reported, which served it before, is over.
  if (state !== "running" || server !== share?.spec.nodeID) return undefined;
  return untrusted.find((user) => user.refused && user.nodeID === nodeID);
}

/** Served at `/apis/storage.mooring.dev/v1alpha1/sharemanagers`. */
export const ShareManagers = defineResource<ShareManager>({
  group: MOORING_GROUP,
  version: MOORING_VERSION,
  kind: "ShareManager",
  plural: "sharemanagers",
  namespaced: false,
});
