import type { Host, MountEntry } from "../../host/host.ts";
import type { ExplainMount, Leak } from "./leak.ts";
import { type KnownPool, mayBeOpen, type ReadRecords, type Records } from "./records.ts";

/** Mounts below the state folder that no pool and no attached volume explains. */
export async function leakedMounts(
  host: Host,
  pools: readonly KnownPool[],
  stateDir: string,
  { read, explains }: { read: ReadRecords; explains: ExplainMount },
): Promise<Leak[]> {
  const suspects = await unexplained(host, pools, stateDir, { records: await read(), explains });
  if (suspects.length === 0) return [];
  const still = await unexplained(host, pools, stateDir, { records: await read(), explains });
  const ids = new Set(still.map(({ id }) => id));
  return suspects
    .filter(({ id }) => ids.has(id))
    .map(({ target, source, fsType }) => ({
      kind: "unexplained-mount" as const,
      subject: target,
      message: `${source} (${fsType}) is mounted at ${target}, which no pool and no attached volume explains`,
      fix: `if nothing uses it: umount ${target}`,
    }));
}

async function unexplained(
  host: Host,
  pools: readonly KnownPool[],
  stateDir: string,
  { records: { volumes }, explains }: { records: Records; explains: ExplainMount },
): Promise<MountEntry[]> {
  const devices = new Set(
    [...volumes.values()].filter(mayBeOpen).flatMap(({ status }) => status?.device ?? []),
  );
  const isOpenImage = ({ target }: MountEntry): boolean =>
    pools.some(({ layout }) => {
      const id = layout.remote && target.startsWith(`${layout.images}/`) ? imageOf(target) : undefined;
      return id !== undefined && mayBeOpen(volumes.get(id));
    });
  const homes = new Set(pools.flatMap(({ layout }) => (layout.backing ?? layout.shared)?.mount ?? []));
  return (await host.mounts.list()).filter(
    (entry) =>
      entry.target.startsWith(`${stateDir}/`) &&
      !homes.has(entry.target) &&
      !isOpenImage(entry) &&
      !isOfVolume(entry, devices) &&
      !explains(entry),
  );
}

/** `v-p-1` for the file of an image. */
function imageOf(file: string): string | undefined {
  return /\/(v-[a-z0-9-]+)\.img$/.exec(file)?.[1];
}

/** Mounted from the device, a bind of the device node itself, or a bind of a folder volume. */
function isOfVolume({ source, fsType, root }: MountEntry, devices: ReadonlySet<string>): boolean {
  if (devices.has(source)) return true;
  if (fsType === "devtmpfs") return devices.has(`/dev${root}`);
  return [...devices].some(
    (folder) => !folder.startsWith("/dev/") && (folder === root || folder.endsWith(root)),
  );
}
