import type { Volume } from "../api/volume.ts";

/**
 * Whether a node may have the volume's device open, as far as the record can tell. The current node is set only when
 * a device is fully open, so a volume on its way there, whose wish was taken back, may be open on a node that no
 * field names any more.
 */
export function mayBeOpenOn(volume: Volume, nodeID: string): boolean {
  const wanted = volume.spec.nodeID ?? "";
  const { currentNodeID = "", state } = volume.status ?? {};
  if (wanted === nodeID || currentNodeID === nodeID) return true;
  return wanted === "" && currentNodeID === "" && (state === "attaching" || state === "detaching");
}
