import { existsSync, readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { LoopDevice } from "./host.ts";

const SYS_BLOCK = "/sys/block";
/** What the kernel appends to the name of a file that was unlinked. */
export const DELETED = / \(deleted\)$/;

/** What sysfs says about one bound loop device. */
export interface SysfsLoop extends LoopDevice {
  /** It goes away with its last user. */
  autoclear: boolean;
  sectorSize: number;
  /** The file was unlinked while attached. */
  deleted: boolean;
  /** Tells this attachment from every other of the same device; empty on kernels before 5.15. */
  sequence: string;
}

/** All bound loop devices of the machine, in every mount namespace. */
export async function readLoops(): Promise<SysfsLoop[]> {
  const loops = await Promise.all([...backingFiles().keys()].map(readLoop));
  return loops.filter((loop) => loop !== undefined);
}

/**
 * `loop3` -> its file, for all bound devices. Synchronous on purpose: sysfs answers from memory in microseconds, while
 * a trip through the thread pool for each of some hundred devices costs a hundred times that.
 */
export function backingFiles(): Map<string, string> {
  const files = new Map<string, string>();
  for (const name of readdirSync(SYS_BLOCK)) {
    const path = `${SYS_BLOCK}/${name}/loop/backing_file`;
    if (!/^loop\d+$/.test(name) || !existsSync(path)) continue;
    try {
      files.set(name, readFileSync(path, "utf8").replace(/\n$/, ""));
    } catch {
      // Detached between the two looks.
    }
  }
  return files;
}

/** Undefined when the device has no file. `name` is `loop3`. */
export async function readLoop(name: string): Promise<SysfsLoop | undefined> {
  const backing = await attribute(name, "loop/backing_file");
  if (backing === undefined) return undefined;
  const [dio, ro, autoclear, size, sector, sequence] = await Promise.all([
    attribute(name, "loop/dio"),
    attribute(name, "ro"),
    attribute(name, "loop/autoclear"),
    attribute(name, "size"),
    attribute(name, "queue/logical_block_size"),
    attribute(name, "diskseq"),
  ]);
  return {
    path: `/dev/${name}`,
    backingFile: backing.replace(DELETED, ""),
    deleted: DELETED.test(backing),
    directIO: dio === "1",
    readOnly: ro === "1",
    autoclear: autoclear === "1",
    // sysfs counts in 512-byte units whatever the sector size is.
    sizeBytes: Number(size ?? 0) * 512,
    sectorSize: Number(sector ?? 512),
    sequence: sequence ?? "",
  };
}

async function attribute(name: string, file: string): Promise<string | undefined> {
  try {
    return (await readFile(`${SYS_BLOCK}/${name}/${file}`, "utf8")).replace(/\n$/, "");
  } catch {
    // Unbound devices have no loop folder; a device may also go away between two reads.
    return undefined;
  }
}
