import { createHash } from "node:crypto";
import {
  type CSINode,
  type Node,
  type PersistentVolume,
  selectsNode,
  type VolumeSnapshotContent,
} from "@mooring/store";
import type { Segments } from "../topology/terms.ts";
import { CAPACITY_MANAGER, SNAPSHOT_MANAGED_BY } from "./names.ts";

/**
 * The node that this process is for, where every node has a driver and control plane of its own: each works for the volumes
 * of its node. What the driver reports of it stands in for the Node and CSINode objects, which no informer has to watch
 * then.
 */
export interface Here {
  node: string;
  /** The driver's own name for it, as in its CSINode. */
  nodeId: string;
  segments: Segments;
}

/** The Node as the driver's topology sees it. */
export const nodeHere = ({ node, segments }: Here): Node => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: node, labels: { ...segments } },
});

/** The CSINode with this driver alone. */
export const csiNodeHere = ({ node, nodeId, segments }: Here, driver: string): CSINode => ({
  apiVersion: "storage.k8s.io/v1",
  kind: "CSINode",
  metadata: { name: node },
  spec: { drivers: [{ name: driver, nodeID: nodeId, topologyKeys: Object.keys(segments) }] },
});

/** The volume, where it can be reached from here; one process for all nodes reaches every volume. */
export function ifHere(
  here: Here | undefined,
  volume: PersistentVolume | undefined,
): PersistentVolume | undefined {
  if (here === undefined || volume === undefined) return volume;
  return selectsNode(volume.spec?.nodeAffinity?.required, nodeHere(here)) ? volume : undefined;
}

/** Whether the snapshot of a content is another node's; any node may take one that names none. */
export function isElsewhere(here: Here | undefined, { metadata }: VolumeSnapshotContent): boolean {
  const node = metadata.labels?.[SNAPSHOT_MANAGED_BY];
  return here !== undefined && node !== undefined && node !== here.node;
}

/** The longest value of a label. */
const LONGEST = 63;

/** Whose CSIStorageCapacities are whose: each node keeps its own. As external-provisioner names itself. */
export function capacityManager(here: Here | undefined): string {
  if (here === undefined) return CAPACITY_MANAGER;
  const name = `${CAPACITY_MANAGER}-${here.node}`;
  if (name.length <= LONGEST) return name;
  return `${CAPACITY_MANAGER}-${createHash("sha256").update(here.node).digest("hex").slice(0, 16)}`;
}
