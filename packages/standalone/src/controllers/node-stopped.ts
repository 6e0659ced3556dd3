import type { Node } from "@mooring/store";

/** Reason of a Ready condition that is False because an operator stopped Mooring on the node. */
export const STOPPED_REASON = "KubeletStopped";

/** The kubelet has reported that nothing runs on the node any more. Silence does not prove that. */
export function isStopped(node: Node | undefined): boolean {
  const ready = (node?.status?.conditions ?? []).find(({ type }) => type === "Ready");
  return ready?.status === "False" && ready.reason === STOPPED_REASON;
}
