import { DRIVER_NAME, OUT_OF_SERVICE } from "@mooring/engine";
import type { KubeVolumeAttachment, Node } from "@mooring/store";

type Condition = NonNullable<NonNullable<Node["status"]>["conditions"]>[number];

/**
 * Condition of a lost Node that repeats its NodeAgent's: its devices of Mooring's volumes are disconnected. The kubelet
 * writes a list of conditions without it, so that a node that is back is not taken for fenced.
 */
export const FENCED_CONDITION = "storage.mooring.dev/Fenced";

/** A condition of the node by type; undefined when it has none. */
export function conditionOf(node: Node | undefined, type: string): Condition | undefined {
  return (node?.status?.conditions ?? []).find((condition) => condition.type === type);
}

/** True when the node's condition `Ready` is True. */
export function isReady(node: Node | undefined): boolean {
  return conditionOf(node, "Ready")?.status === "True";
}

/** An operator has tainted the machine as off, and nothing on it contradicts. */
export function isOutOfService(node: Node | undefined): boolean {
  return !isReady(node) && (node?.spec?.taints ?? []).some(({ key }) => key === OUT_OF_SERVICE);
}

/** The node does not respond, and cannot write to volumes of Mooring's driver any more. */
export function isFenced(node: Node | undefined): boolean {
  return !isReady(node) && conditionOf(node, FENCED_CONDITION)?.status === "True";
}

/**
 * Whether a volume may be detached although the node's kubelet listed it as in use when it was last heard of. Of other
 * drivers' volumes only an operator can know.
 */
export function mayForceDetach(node: Node | undefined, { spec }: KubeVolumeAttachment): boolean {
  return isOutOfService(node) || (isFenced(node) && spec?.attacher === DRIVER_NAME);
}
