import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import {
  deviceSize,
  EngineError,
  growOnline,
  isServed,
  ShareManagers,
  type Volume,
  Volumes,
} from "@mooring/engine";
import { failpoint, mutate } from "@mooring/store";
import { USED_PATH } from "../hints.ts";
import { getVolume } from "../objects/find.ts";
import { requireMovable } from "../objects/require-unmounted.ts";
import { accessOf, parseCapability, requireCapability } from "../request/capability.ts";
import { parseRange } from "../request/size.ts";
import { waitUntil } from "../wait.ts";
import { attachedHere, type NodeContext } from "./context.ts";
import type { NodeRecord } from "./records.ts";

const deviceGrown = failpoint("driver/expand/device-grown");
const filesystemGrown = failpoint("driver/expand/grown");

/** NodeExpandVolume: grows the mounted file system to the size that the device has by now. */
export async function expandOnNode(
  node: NodeContext,
  request: v1.NodeExpandVolumeRequest,
  { signal }: CallContext,
) {
  if (request.volumePath === "") throw CsiError.invalidArgument("volume_path is required");
  // Only ever compared with the paths of our own records, so it may be anything.
  const path = request.volumePath;
  const range = parseRange(request.capacityRange);
  const capability =
    request.volumeCapability === undefined
      ? undefined
      : parseCapability(request.volumeCapability, "volume_capability");
  const volume = await getVolume(node.store, request.volumeId, signal);
  if (capability !== undefined) requireCapability(volume, capability);
  const record = await node.records.findOf(volume);
  const access = accessAt(record, path);
  if (access === undefined) {
    throw CsiError.notFound(`volume "${request.volumeId}" is not at ${path}`, { hint: USED_PATH });
  }
  if (capability !== undefined && accessOf(capability) !== access) {
    throw CsiError.invalidArgument(
      `volume_capability is for ${accessOf(capability)} access, but at ${path} volume "${request.volumeId}" is in use for ${access} access`,
      { hint: "Give the capability that it was published with, or none." },
    );
  }
  const size = BigInt(volume.spec.size);
  if (range.requiredBytes > size) {
    throw CsiError.outOfRange(`volume "${request.volumeId}" has ${size} bytes, not ${range.requiredBytes}`, {
      hint: "Call ControllerExpandVolume first.",
    });
  }
  if (range.limitBytes !== 0n && range.limitBytes < size) {
    throw CsiError.outOfRange(
      `volume "${request.volumeId}" has ${size} bytes already, more than limit_bytes ${range.limitBytes}`,
      { hint: "Volumes never shrink: ask for more, or name no limit." },
    );
  }
  // A device that is not here does not grow here: reported now, not after a wait.
  if (!isServed(volume)) await attachedHere(node, volume);
  await untilDeviceGrown(node, volume, signal);
  deviceGrown();
  if (isServed(volume)) {
    await untilShareGrown(node, volume, signal);
    return { capacityBytes: size };
  }
  const attached = await attachedHere(node, volume);
  if (attached.kind === "folder") return { capacityBytes: size };
  if (access === "mount") {
    const top = (await node.host.mounts.at(path)).at(-1);
    if (top === undefined) throw CsiError.notFound(`volume "${request.volumeId}" is not mounted at ${path}`);
    await growOrNote(node, volume, { device: attached.path, mountPath: path, type: top.fsType });
    filesystemGrown();
  }
  return { capacityBytes: BigInt(await deviceSize(attached.path)) };
}

function accessAt(record: NodeRecord | undefined, path: string): "block" | "mount" | undefined {
  if (record === undefined) return undefined;
  return record.published[path]?.access ?? (record.staged?.path === path ? record.staged.access : undefined);
}

async function untilDeviceGrown(node: NodeContext, volume: Volume, signal: AbortSignal): Promise<void> {
  const { name } = volume.metadata;
  const grown = (v: Volume | undefined) => v === undefined || (v.status?.size ?? 0) >= volume.spec.size;
  await waitUntil(
    node.store,
    { resource: Volumes, name },
    {
      what: `the device of volume "${name}" to grow`,
      until: grown,
      giveUp: () => requireMovable(node, [name], signal),
    },
    signal,
  );
}

/** The node that serves the volume grows its file system; the others only read it. */
async function untilShareGrown(node: NodeContext, volume: Volume, signal: AbortSignal): Promise<void> {
  const { name } = volume.metadata;
  await waitUntil(
    node.store,
    { resource: ShareManagers, name },
    {
      what: `the file system of volume "${name}" to grow on the node that serves it`,
      until: (share) => (share?.status?.size ?? 0) >= volume.spec.size,
      describe: (share) => share?.status?.error?.message ?? share?.status?.state ?? "",
    },
    signal,
  );
}

const noted = failpoint("driver/expand/offline-noted");

/** Where the kernel does not let it grow in use, it grows as soon as no pod uses it: that is noted on the volume. */
async function growOrNote(
  node: NodeContext,
  volume: Volume,
  at: { device: string; mountPath: string; type: string },
): Promise<void> {
  try {
    await growOnline(node, at);
  } catch (error) {
    if (!(error instanceof EngineError) || error.code !== "FAILED_PRECONDITION") throw error;
    const note = (v: Volume) => {
      if (v.status?.expansion?.size === v.spec.size || v.status === undefined) return;
      v.status.expansion = { size: v.spec.size };
    };
    await mutate(
      node.store,
      Volumes,
      { name: volume.metadata.name },
      { change: note, subresource: "status" },
    );
    noted();
    throw error;
  }
}
