import { type Node, type Pod, selectsNode } from "@mooring/store";

/** Whether the node is one that the pod asks for, by labels. */
export function matchesPod({ spec }: Pod, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  const selected = Object.entries(spec?.nodeSelector ?? {}).every(([key, value]) => labels[key] === value);
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return selected && selectsNode(required, node);
}

/** Whether it asks for any at all. */
export function selectsNodes({ spec }: Pod): boolean {
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return Object.keys(spec?.nodeSelector ?? {}).length > 0 || Boolean(required);
}
