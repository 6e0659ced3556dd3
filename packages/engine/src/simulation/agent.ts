import type { VolumeState, VolumeStatus } from "../api/volume.ts";
import { ATTACHMENT_TABLE, placeOf } from "../node/volume/attachment-table.ts";
import type { AgentStep, SimVolume } from "./model.ts";

/** What an agent finds of its device. */
interface Found {
  open: boolean;
  /** Programs use it, so it cannot be closed. */
  inUse?: boolean;
}

const IN_USE = { code: "FAILED_PRECONDITION", message: "the device is in use" };

/** What a node's agent does next: the real attachment table, for the one node that is responsible for the volume now. */
export function agentStep(
  nodeID: string,
  volume: SimVolume,
  { open, inUse = false }: Found,
): AgentStep | undefined {
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
      if (!open) return record(volume, detached(volume, nodeID), "");
      return inUse ? keepOpen(nodeID, volume) : { do: "close" };
    case "rest":
      return undefined;
  }
}

/** Where it is wanted with its device it is there already; elsewhere it is reported once, and closed when its users have ended. */
function keepOpen(nodeID: string, volume: SimVolume): AgentStep | undefined {
  const { spec, status, opener } = volume;
  if (spec.nodeID === nodeID && spec.disableFrontend !== true)
    return record(volume, opened(volume, nodeID), nodeID);
  return status.error === undefined
    ? record(volume, { state: "detaching", error: IN_USE }, opener)
    : undefined;
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
  const { error: _, ...before } = volume.status;
  const next = { ...volume, status: { ...before, ...status, ...robustness }, opener };
  return { do: "record", state: status.state, next };
}
