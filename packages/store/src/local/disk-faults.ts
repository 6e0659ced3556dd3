import { statfsSync, utimesSync } from "node:fs";
import { isDiskFull } from "../runtime/disk-errors.ts";
import { diskFull, diskRoom } from "./disk-room.ts";
import { storeFile } from "./files.ts";

/** What the disk of a store does not take: more bytes, any write at all, or a further file. */
export type DiskFault = "full" | "unwritable" | "no-files";

const MOST_FILES = 64;
const PART = 0.05;

/** What is wrong with the disk of a store's folder in that way, and what to do; undefined while it is well. */
export const DISK_FAULTS: Readonly<Record<DiskFault, (folder: string) => string | undefined>> = {
  full: (folder) => diskFull(diskRoom(folder)),
  unwritable,
  "no-files": noFiles,
};

/**
 * A file system that gives up (ext4 with `errors=remount-ro`, a btrfs whose tree is damaged) refuses writes to files that
 * are open, too, and not all of them show it in their options: so it is asked.
 */
function unwritable(folder: string): string | undefined {
  try {
    const now = Date.now() / 1000;
    utimesSync(storeFile(folder), now, now);
    return undefined;
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    if (isDiskFull(error)) return undefined;
    const why = code === "EROFS" ? "its file system is read-only" : message;
    return `the disk of ${folder} cannot be written to (${why}), so nothing is stored: the kernel's log says why (dmesg); once it can be written to, writes go on by themselves`;
  }
}

/** The store itself needs no further file; pods, volumes' mounts, snapshots and copies of the state do. */
function noFiles(folder: string): string | undefined {
  const { files, ffree } = statfsSync(folder);
  const reserve = Math.min(MOST_FILES, Math.floor(files * PART));
  // A file system that makes inodes as it needs them says that it has none.
  if (ffree >= reserve) return undefined;
  return `no inodes left on the disk of ${folder}: ${ffree} of ${files} are free, so no further file can be made there, however much space is free; remove files there (df -i ${folder}), and what waits for one goes on by itself`;
}
