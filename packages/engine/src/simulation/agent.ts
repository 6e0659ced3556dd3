import type { VolumeState, VolumeStatus } from "../api/volume.ts";
import { ATTACHMENT_TABLE, placeOf } from "../node/volume/attachment-table.ts";
import type { AgentStep, SimVolume } from "./model.ts";

/** What a node's agent does next: the real attachment table, for the one node that is responsible for the volume now. */
export function agentStep(nodeID: string, volume: SimVolume, open: boolean): AgentStep | undefined {
  const { state, currentNodeID } = volume.status;
  const responsible = volume.opener === "" ? volume.spec.nodeID : volume.opener;
  if (responsible !== nodeID || state === "creating" || state === "deleting") return undefined;
  switch (ATTACHMENT_TABLE[placeOf(volume.spec.nodeID, nodeID)][placeOf(currentNodeID, nodeID)][state]) {
    case "begin-attach":
      return record(volume, { state: "attaching" }, nodeID);
    case "open":
      return open ? record(volume, opened(volume, nodeID), nodeID) : { do: "open" };
    case "keep":
      if (!open) return { do: "open" };
      return volume.status.frontendDisabled === (volume.spec.disableFrontend ?? false)
        ? undefined
        : record(volume, opened(volume, nodeID), nodeID);
    case "begin-detach":
      return record(volume, { state: "detaching" }, volume.opener);
    case "close":
      return open ? { do: "close" } : record(volume, detached(volume, nodeID), "");
    case "rest":
      return undefined;
  }
}

/** What a migration to this node has left is closed with the rest. */
function detached({ status }: SimVolume, nodeID: string): Partial<VolumeStatus> & { state: VolumeState } {
  const left = status.currentMigrationNodeID === nodeID ? { currentMigrationNodeID: "" } : {};
  return { state: "detached", currentNodeID: "", ...left };
}

function opened(volume: SimVolume, nodeID: string): Partial<VolumeStatus> & { state: VolumeState } {
  const frontendDisabled = volume.spec.disableFrontend ?? false;
  return { state: "attached", currentNodeID: nodeID, frontendDisabled, robustness: "healthy" };
}

function record(
  volume: SimVolume,
  status: Partial<VolumeStatus> & { state: VolumeState },
  opener: string,
): AgentStep {
  const robustness = volume.status.robustness === "faulted" ? { robustness: "faulted" as const } : {};
  const next = { ...volume, status: { ...volume.status, ...status, ...robustness }, opener };
  return { do: "record", state: status.state, next };
}
