import { existsSync } from "node:fs";
import { readdir, readFile, stat, statfs } from "node:fs/promises";
import { basename, join } from "node:path";
import type { LocalPoolType } from "../api/pool.ts";
import type { Host } from "../host/host.ts";
import { absent } from "./file-images.ts";
import type { PoolLayout } from "./layout.ts";
import type { PoolRoom } from "./medium.ts";

const SYSFS = "/sys/fs/btrfs";
/** What btrfs has set aside of a kind of block groups. */
const TAKEN = ["bytes_used", "bytes_reserved", "bytes_may_use", "bytes_pinned", "bytes_readonly"] as const;

/** What the pool's file system reports, or what the disk below has left for the pool's sparse file if that is less. */
export async function poolRoom(host: Host, layout: PoolLayout, type: LocalPoolType): Promise<PoolRoom> {
  const [inside, below, file] = await Promise.all([
    statfs(layout.images),
    statfs(layout.folder),
    layout.backing === undefined ? undefined : stat(layout.backing.file).catch(absent),
  ]);
  const totalBytes = inside.blocks * inside.bsize;
  const exact = type === "btrfs" ? await btrfsFree(host, layout, totalBytes) : undefined;
  const free = exact ?? inside.bavail * inside.bsize;
  const belowFree = below.bavail * below.bsize;
  const missing = file === undefined ? Number.POSITIVE_INFINITY : file.size - file.blocks * 512;
  return { totalBytes, freeBytes: belowFree < missing ? Math.min(free, belowFree) : free };
}

/**
 * btrfs reports to statfs(2) what has been written only when it commits, up to half a minute later. sysfs has what it has set
 * aside at once. Undefined where sysfs does not have it.
 */
async function btrfsFree(host: Host, { backing }: PoolLayout, total: number): Promise<number | undefined> {
  if (backing === undefined) return undefined;
  const top = (await host.mounts.at(backing.mount)).at(-1);
  if (top === undefined) return undefined;
  const device = basename(top.source);
  const systems = (await readdir(SYSFS).catch(absent)) ?? [];
  const uuid = systems.find((one) => existsSync(join(SYSFS, one, "devices", device)));
  if (uuid === undefined) return undefined;
  const base = join(SYSFS, uuid, "allocation");
  const data = await room(join(base, "data"));
  const others = await Promise.all(["metadata", "system"].map((kind) => room(join(base, kind))));
  if (data === undefined) return undefined;
  const allocated = [data, ...others].reduce((sum, one) => sum + (one?.onDisk ?? 0), 0);
  return Math.max(0, total - allocated) + Math.max(0, data.left);
}

async function room(folder: string): Promise<{ onDisk: number; left: number } | undefined> {
  const number = async (name: string): Promise<number> =>
    Number((await readFile(join(folder, name), "utf8").catch(absent)) ?? Number.NaN);
  const [onDisk = 0, total = 0, ...taken] = await Promise.all(
    ["disk_total", "total_bytes", ...TAKEN].map(number),
  );
  if (Number.isNaN(onDisk) || Number.isNaN(total)) return undefined;
  return { onDisk, left: taken.reduce((left, bytes) => left - (Number.isNaN(bytes) ? 0 : bytes), total) };
}
