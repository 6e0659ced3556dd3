import { stat } from "node:fs/promises";
import { majorMinor } from "../../host/device-numbers.ts";
import type { MountEntry } from "../../host/host.ts";

/** A mount of the device that its path leads to: freezing one that is covered would freeze what covers it. */
export async function visibleMount(
  mounts: readonly MountEntry[],
  device: string,
): Promise<MountEntry | undefined> {
  for (const mount of mounts) {
    if (mount.source !== device || mount.fsType === "devtmpfs") continue;
    const top = mounts.filter(({ target }) => target === mount.target).at(-1);
    if (top?.id === mount.id && (await leadsTo(mount))) return mount;
  }
  return undefined;
}

/** A parent folder may be covered as well. btrfs gives each subvolume a device number of its own. */
async function leadsTo({ target, device, fsType }: MountEntry): Promise<boolean> {
  if (fsType === "btrfs") return true;
  const info = await stat(target).catch(() => undefined);
  return info !== undefined && majorMinor(info.dev) === device;
}
