import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { LoopDevice } from "./host.ts";

const SYS_BLOCK = "/sys/block";
const PARTITIONS = "/proc/partitions";
/** What the kernel appends to the name of a file that was unlinked. */
export const DELETED = / \(deleted\)$/;

/** The size limit of a device that has been fenced: a sector that no file system and no writer of ours can use. */
export const FENCED_BYTES = 512;

/** What sysfs shows about one bound loop device. */
export interface SysfsLoop extends LoopDevice {
  /** It goes away with its last user. */
  autoclear: boolean;
  sectorSize: number;
  /** The file was unlinked while attached. */
  deleted: boolean;
}

/** All bound loop devices of the machine, in every mount namespace; with `below` those of this file, or of files below it. */
export async function readLoops(below?: string): Promise<SysfsLoop[]> {
  const isWanted = (file: string) => below === undefined || file === below || file.startsWith(`${below}/`);
  const names = [...backingFiles({ sizeless: true })].filter(([, file]) =>
    isWanted(file.replace(DELETED, "")),
  );
  const loops = await Promise.all(names.map(([name]) => readLoop(name)));
  // A device may have got another file meanwhile.
  return loops.filter((loop) => loop !== undefined && isWanted(loop.backingFile)) as SysfsLoop[];
}

/**
 * `loop3` -> its file, for all bound devices. Synchronous on purpose: sysfs reads from memory in microseconds, while
 * a trip through the thread pool for each of some hundred devices costs a hundred times that.
 *
 * A machine keeps every device that it ever had, and a read of each of hundreds costs milliseconds. The kernel's list of
 * partitions has those with a size, which are the bound ones: no file without a sector is ever attached, a fenced device
 * has one. Only where a file system has failed the kernel takes the file of a device for an empty one, when it is attached or its
 * size is asked for anew: with `sizeless` these are found as well.
 */
export function backingFiles({ sizeless }: { sizeless: boolean }): Map<string, string> {
  const files = new Map<string, string>();
  const names = sizeless
    ? readdirSync(SYS_BLOCK).filter((name) => /^loop\d+$/.test(name))
    : readFileSync(PARTITIONS, "utf8").match(/\bloop\d+$/gm);
  for (const name of names ?? []) {
    const file = attribute(name, "loop/backing_file");
    if (file !== undefined) files.set(name, file);
  }
  return files;
}

/** Undefined when the device has no file. `name` is `loop3`. */
export async function readLoop(name: string): Promise<SysfsLoop | undefined> {
  const backing = attribute(name, "loop/backing_file");
  if (backing === undefined) return undefined;
  return {
    path: `/dev/${name}`,
    backingFile: backing.replace(DELETED, ""),
    deleted: DELETED.test(backing),
    directIO: attribute(name, "loop/dio") === "1",
    readOnly: attribute(name, "ro") === "1",
    autoclear: attribute(name, "loop/autoclear") === "1",
    // sysfs counts in 512-byte units whatever the sector size is.
    sizeBytes: Number(attribute(name, "size") ?? 0) * 512,
    fenced: attribute(name, "loop/sizelimit") === String(FENCED_BYTES),
    sectorSize: Number(attribute(name, "queue/logical_block_size") ?? 512),
    sequence: attribute(name, "diskseq") ?? "",
  };
}

function attribute(name: string, file: string): string | undefined {
  const path = `${SYS_BLOCK}/${name}/${file}`;
  // Asked first, because an error is dear to make.
  if (!existsSync(path)) return undefined;
  try {
    return readFileSync(path, "utf8").replace(/\n$/, "");
  } catch {
    // The device went away between the two reads.
    return undefined;
  }
}
