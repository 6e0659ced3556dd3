import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Host } from "../host/host.ts";
import { absent } from "./file-images.ts";

const SYSFS = "/sys/fs/btrfs";
/** What btrfs has set aside of a kind of block groups. */
const TAKEN = ["bytes_used", "bytes_reserved", "bytes_may_use", "bytes_pinned", "bytes_readonly"] as const;
/** Of that what is not given back within a moment: reservations swing by more than all that there is. */
const KEPT = ["bytes_used", "bytes_pinned", "bytes_readonly"] as const;

/** Bytes of data for which one of metadata suffices, in pieces of 4 KiB that a snapshot shares. */
const DATA_PER_METADATA = 16;
/** Of the metadata this part is left for work that is under way. */
const METADATA_MARGIN = 1 / 4;

/** Bytes of a kind of block groups: of the disk, all of them, and their counters. */
interface Kind {
  onDisk: number;
  total: number;
  taken: Readonly<Record<(typeof TAKEN)[number], number>>;
}

/**
 * Bytes that images on a btrfs can still take. It reports to statfs(2) what has been written only when it commits, up to
 * half a minute later; sysfs has what it has set aside at once. Undefined where sysfs does not have it.
 *
 * Data and metadata have block groups of their own, and what no block group has yet goes to the first that asks. Without room
 * for metadata a transaction is aborted, and the file system becomes read-only with all its volumes: so what is left for
 * metadata bounds what is free.
 */
export async function btrfsFree(
  host: Host,
  mount: string | undefined,
  total: number,
): Promise<number | undefined> {
  const base = mount === undefined ? undefined : await allocationFolder(host, mount);
  if (base === undefined) return undefined;
  const [data, metadata, system] = await Promise.all(
    ["data", "metadata", "system"].map((kind) => readKind(join(base, kind))),
  );
  if (data === undefined) return undefined;
  const allocated = [data, metadata, system].reduce((sum, one) => sum + (one?.onDisk ?? 0), 0);
  const unallocated = Math.max(0, total - allocated);
  const left = unallocated + Math.max(0, leftOf(data, TAKEN));
  if (metadata === undefined || metadata.total === 0) return left;
  const reserve = await readNumber(join(base, "global_rsv_size"));
  const spare = metadataSpare(metadata, unallocated, reserve);
  return Math.min(left, Math.max(0, spare) * DATA_PER_METADATA);
}

function metadataSpare(metadata: Kind, unallocated: number, reserve: number): number {
  const { onDisk, total } = metadata;
  // Metadata is there twice, unless an operator has made the file system otherwise.
  const copies = Math.max(1, onDisk / total);
  return leftOf(metadata, KEPT) - reserve - total * METADATA_MARGIN + unallocated / copies;
}

function leftOf({ total, taken }: Kind, counters: readonly (typeof TAKEN)[number][]): number {
  return counters.reduce((left, counter) => left - taken[counter], total);
}

async function allocationFolder(host: Host, mount: string): Promise<string | undefined> {
  const top = (await host.mounts.at(mount)).at(-1);
  if (top === undefined) return undefined;
  const device = basename(top.source);
  const systems = (await readdir(SYSFS).catch(absent)) ?? [];
  const uuid = systems.find((one) => existsSync(join(SYSFS, one, "devices", device)));
  return uuid === undefined ? undefined : join(SYSFS, uuid, "allocation");
}

async function readKind(folder: string): Promise<Kind | undefined> {
  const [onDisk = 0, total = 0, ...taken] = await Promise.all(
    ["disk_total", "total_bytes", ...TAKEN].map(async (name) => {
      const text = await readFile(join(folder, name), "utf8").catch(absent);
      return text === undefined ? Number.NaN : Number(text);
    }),
  );
  if (Number.isNaN(onDisk) || Number.isNaN(total)) return undefined;
  const counters = TAKEN.map((name, index) => [name, taken[index] || 0]);
  return { onDisk, total, taken: Object.fromEntries(counters) as Kind["taken"] };
}

/** 0 where the kernel does not have it. */
async function readNumber(path: string): Promise<number> {
  const text = await readFile(path, "utf8").catch(absent);
  return Number(text ?? 0) || 0;
}
