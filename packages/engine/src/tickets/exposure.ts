import type { Volume } from "../api/volume.ts";

/** Whether a node may have the volume's device open, as far as the record shows. */
export function mayBeOpenOn(volume: Volume, nodeID: string): boolean {
  const wanted = volume.spec.nodeID ?? "";
  const { currentNodeID, currentMigrationNodeID } = volume.status ?? {};
  const moving = volume.spec.migrationNodeID === nodeID || currentMigrationNodeID === nodeID;
  return wanted === nodeID || currentNodeID === nodeID || moving || isBetween(volume);
}

/**
 * The current node is set only when a device is fully open. So a volume on its way there, whose wish was taken back,
 * may be open on a node that no field names any more.
 */
export function isBetween(volume: Volume): boolean {
  const { currentNodeID = "", state } = volume.status ?? {};
  const unnamed = (volume.spec.nodeID ?? "") === "" && currentNodeID === "";
  return unnamed && (state === "attaching" || state === "detaching");
}

/**
 * The node on which programs keep the device of a volume open that no ticket has there any more, as its agent has reported.
 * It closes it when the last of them ends; until then no other node gets the volume. Undefined: there is none.
 */
export function keptOpenOn({ spec, status }: Volume): string | undefined {
  const { state, currentNodeID = "", currentMigrationNodeID = "", error } = status ?? {};
  const unwanted = (spec.nodeID ?? "") === "" && state === "detaching" && currentMigrationNodeID === "";
  const isInUse = error?.code === "FAILED_PRECONDITION";
  return unwanted && isInUse && currentNodeID !== "" ? currentNodeID : undefined;
}

/** True when the volume is attached to the node and is to stay there, for a workload or for a job. */
export function isAttachedTo({ spec, status }: Volume, nodeID: string): boolean {
  return status?.state === "attached" && status.currentNodeID === nodeID && spec.nodeID === nodeID;
}
