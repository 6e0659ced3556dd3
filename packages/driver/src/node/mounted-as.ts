import { basename } from "node:path";
import { CsiError } from "@mooring/csi";
import type { MountEntry } from "@mooring/engine";
import type { NodeContext } from "./context.ts";
import { isMountOfShare } from "./share.ts";

/** What is mounted at a path: the volume, something else, or nothing. */
type MountedAs = "volume" | "other" | "nothing";

/**
 * Reads the kernel. `recorded`: by our records the volume is there, which counts where the kernel cannot show more,
 * as with a device that was fenced off from its image. `asDevice`: it was published as a device; its number may have been
 * given to another image since, and what is mounted is no more than the number. Throws FAILED_PRECONDITION when
 * something covers the volume.
 */
export async function mountedAs(
  node: NodeContext,
  volumeId: string,
  path: string,
  { recorded, asDevice = false }: { recorded: boolean; asDevice?: boolean },
): Promise<MountedAs> {
  const layers = await node.host.mounts.at(path);
  const owners = await Promise.all(layers.map((entry) => ownerOf(node, volumeId, entry)));
  const renumbered = (index: number) => asDevice && layers[index]?.fsType === "devtmpfs";
  const own = owners.map(
    (owner, index) => owner === "volume" || (recorded && (owner === "unknown" || renumbered(index))),
  );
  if (layers.length === 0) return "nothing";
  if (own.at(-1) === true) return "volume";
  if (!own.includes(true)) return "other";
  throw CsiError.failedPrecondition(`something else is mounted over volume "${volumeId}" at ${path}`, {
    hint: `Unmount what covers ${path} first.`,
  });
}

/** Throws FAILED_PRECONDITION when something else is where the volume is to be mounted. */
export async function requireFree(node: NodeContext, volumeId: string, path: string): Promise<void> {
  if ((await mountedAs(node, volumeId, path, { recorded: true })) !== "other") return;
  throw CsiError.failedPrecondition(`something else than volume "${volumeId}" is mounted at ${path}`, {
    hint: "Use another path, or unmount what is there first.",
  });
}

async function ownerOf(
  node: NodeContext,
  volumeId: string,
  entry: MountEntry,
): Promise<"volume" | "other" | "unknown"> {
  if (isMountOfFolder(volumeId, entry) || isMountOfShare(volumeId, entry)) return "volume";
  const device = deviceOf(entry);
  if (device === undefined) return entry.source.startsWith("/dev/") ? "unknown" : "other";
  const loop = await node.host.loops.at(device).catch(() => undefined);
  if (loop === undefined || loop.fenced === true) return "unknown";
  return basename(loop.backingFile) === `${volumeId}.img` ? "volume" : "other";
}

/** The folder of a volume in a directory pool: its data is below what has the volume's name. */
export function isMountOfFolder(volumeId: string, { root }: MountEntry): boolean {
  return root.endsWith(`/${volumeId}/data`);
}

/** The loop device below a file system, or the one that is bound to the path itself. */
function deviceOf({ source, fsType, root }: MountEntry): string | undefined {
  if (/^\/dev\/loop\d+$/.test(source)) return source;
  const bound = fsType === "devtmpfs" ? /^\/(loop\d+)$/.exec(root)?.[1] : undefined;
  return bound === undefined ? undefined : `/dev/${bound}`;
}
