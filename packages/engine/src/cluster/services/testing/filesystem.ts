import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { mutate } from "@mooring/store";
import { type Volume, Volumes } from "../../../api/volume.ts";
import { FILESYSTEMS, type FilesystemType, makeFilesystem } from "../../../host/filesystems.ts";
import type { Bench } from "../../../testing/agent.ts";

/** Attaches a volume for a workload, makes its file system once and mounts it, as the driver's stage step does. */
export async function mountFor(bench: Bench, name: string, type: FilesystemType = "ext4"): Promise<string> {
  await bench.ask(name);
  const shown = (v: Volume) => v.status?.frontendDisabled === false && v.status.device !== undefined;
  const volume = await bench.volume(name, "attached", shown);
  return mountDevice(bench, volume, type);
}

export async function mountDevice(bench: Bench, volume: Volume, type: FilesystemType): Promise<string> {
  const { name } = volume.metadata;
  const { device = "", formatted } = volume.status ?? {};
  if (formatted === undefined) {
    await makeFilesystem(bench.host.exec, { device, type, formatted });
    const note = (v: Volume) => {
      if (v.status !== undefined) v.status.formatted = type;
    };
    await mutate(bench.store, Volumes, { name }, { change: note, subresource: "status" });
  }
  const target = join(bench.dir, `mount-${name}`);
  await mkdir(target, { recursive: true });
  const options = FILESYSTEMS[type].mountOptions;
  await bench.host.mounts.mount({ source: device, target, fsType: type, options });
  return target;
}

/** The workload ends: unmounted, its ticket dropped. Resolves when it cannot reach the device any more. */
export async function endWorkload(bench: Bench, name: string): Promise<void> {
  await bench.host.mounts.unmount(join(bench.dir, `mount-${name}`));
  await unpublish(bench, name);
}

export async function unpublish(bench: Bench, name: string, id = "csi-w"): Promise<void> {
  await bench.drop(name, id);
  await bench.volumeWhere(
    name,
    ({ status }) => (status?.currentNodeID ?? "") === "" || status?.frontendDisabled === true,
  );
}

/** The volume and its tickets are at rest: no ticket has it. */
export async function idle(bench: Bench, name: string): Promise<Volume> {
  await bench.ticketsUntil(name, (a) => Object.keys(a.spec.attachmentTickets ?? {}).length === 0);
  return bench.volume(name, "detached", (v) => (v.spec.nodeID ?? "") === "");
}
