import { open, stat } from "node:fs/promises";
import { basename } from "node:path";
import { CsiError } from "@mooring/csi";
import { deviceOn, type Volume } from "@mooring/engine";
import type { KeyedLock } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import type { NodeRecords } from "./records.ts";
import type { ServedUsage } from "./served-usage.ts";

/** What the node handlers share. */
export interface NodeContext extends DriverContext {
  records: NodeRecords;
  servedUsage: ServedUsage;
  /** By volume: held from the read of its mutable parameters until they are in effect, so that the newest come last. */
  tuning: KeyedLock;
}

/** What a volume is on this node while it is attached: a block device, or a folder of a `directory` pool. */
export interface AttachedVolume {
  path: string;
  kind: "device" | "folder";
}

/** Throws FAILED_PRECONDITION unless the volume is attached here and the device is really its own. */
export async function attachedHere(node: DriverContext, volume: Volume): Promise<AttachedVolume> {
  const { name } = volume.metadata;
  const { state, currentNodeID, frontendDisabled = false } = volume.status ?? {};
  const device = deviceOn(volume, node.nodeID);
  if (device === undefined || device === "") {
    throw notAttached(name, node.nodeID, currentNodeID ?? "", state ?? "new");
  }
  if (frontendDisabled && currentNodeID === node.nodeID) {
    throw CsiError.failedPrecondition(`volume "${name}" is attached for maintenance and has no device`);
  }
  if (!(await stat(device).catch(deviceGone(device))).isBlockDevice())
    return { path: device, kind: "folder" };
  // Loop device numbers are given out again: the record may be older than the last restart.
  const loop = await node.host.loops.at(device).catch(() => undefined);
  if (loop === undefined || basename(loop.backingFile) !== `${name}.img`) {
    throw CsiError.unavailable(`${device} is not the device of volume "${name}" any more`, {
      hint: "The node agent opens it again; repeat the call.",
    });
  }
  return { path: device, kind: "device" };
}

function notAttached(volume: string, node: string, current: string, state: string): CsiError {
  const refuse = (message: string, hint: string) =>
    CsiError.failedPrecondition(`volume "${volume}" ${message}`, { hint });
  if (current === node) {
    const hint = "The node agent is opening or closing it; repeat the call.";
    return refuse(`has no device on node "${node}" at this moment (it is ${state})`, hint);
  }
  const where = current === "" ? state : `on node "${current}"`;
  return refuse(
    `is not attached to node "${node}" (it is ${where})`,
    "Call ControllerPublishVolume for this node first.",
  );
}

/**
 * Keeps the volume's device from going away while `work` runs: as long as a process has it open, its number is not given
 * to another image, whatever happens to the volume meanwhile.
 */
export async function withAttached<R>(
  node: DriverContext,
  volume: Volume,
  work: (attached: AttachedVolume) => Promise<R>,
): Promise<R> {
  const { path, kind } = await attachedHere(node, volume);
  if (kind === "folder") return work({ path, kind });
  const handle = await open(path, "r").catch(deviceGone(path));
  try {
    // Checked again with the device in hand: before that it may have changed hands.
    return await work(await attachedHere(node, volume));
  } finally {
    await handle.close();
  }
}

/** The volume was closed between the read of its record and the read of its device. */
function deviceGone(device: string): (error: unknown) => never {
  return (cause) => {
    throw CsiError.unavailable(
      `${device} is gone: ${cause instanceof Error ? cause.message : String(cause)}`,
      {
        hint: "The volume was detached meanwhile, or its pool is being opened; repeat the call.",
        cause,
      },
    );
  };
}
