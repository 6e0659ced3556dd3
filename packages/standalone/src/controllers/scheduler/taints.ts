import type { Node, Pod } from "@mooring/store";

/** A taint of a node. */
export type Taint = NonNullable<NonNullable<Node["spec"]>["taints"]>[number];
/** A toleration of a pod. */
export type Toleration = NonNullable<NonNullable<Pod["spec"]>["tolerations"]>[number];

/** The first taint of the node that keeps the pod away. */
export function untolerated(node: Node, pod: Pod): Taint | undefined {
  const taints: Taint[] = [...(node.spec?.taints ?? [])];
  if (node.spec?.unschedulable === true) {
    taints.push({ key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" });
  }
  return taints
    .filter(({ effect }) => effect === "NoSchedule" || effect === "NoExecute")
    .find((taint) => !(pod.spec?.tolerations ?? []).some((toleration) => tolerates(toleration, taint)));
}

function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  // An empty key with Exists tolerates everything.
  if (toleration.key && toleration.key !== taint.key) return false;
  if (!toleration.key && toleration.operator !== "Exists") return false;
  return toleration.operator === "Exists" || (toleration.value ?? "") === (taint.value ?? "");
}

/** For how long the pod tolerates the taint: 0 when it does not, Infinity when it does for ever. The shortest counts. */
export function tolerationMs(pod: Pod, taint: Taint): number {
  const matching = (pod.spec?.tolerations ?? []).filter((toleration) => tolerates(toleration, taint));
  if (matching.length === 0) return 0;
  const seconds = matching.map((toleration) => toleration.tolerationSeconds ?? Number.POSITIVE_INFINITY);
  return Math.max(0, Math.min(...seconds)) * 1000;
}
