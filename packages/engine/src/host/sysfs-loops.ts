import { readdir, readFile } from "node:fs/promises";
import type { LoopDevice } from "./host.ts";

const SYS_BLOCK = "/sys/block";

/** What sysfs says about one bound loop device. */
export interface SysfsLoop extends LoopDevice {
  /** It goes away with its last user. */
  autoclear: boolean;
  sectorSize: number;
  /** The file was unlinked while attached. */
  deleted: boolean;
}

/** All bound loop devices of the machine, in every mount namespace. */
export async function readLoops(): Promise<SysfsLoop[]> {
  const names = (await readdir(SYS_BLOCK)).filter((name) => /^loop\d+$/.test(name));
  const loops = await Promise.all(names.map(readLoop));
  return loops.filter((loop) => loop !== undefined);
}

/** Undefined when the device has no file. `name` is `loop3`. */
export async function readLoop(name: string): Promise<SysfsLoop | undefined> {
  const backing = await attribute(name, "loop/backing_file");
  if (backing === undefined) return undefined;
  const [dio, ro, autoclear, size, sector] = await Promise.all([
    attribute(name, "loop/dio"),
    attribute(name, "ro"),
    attribute(name, "loop/autoclear"),
    attribute(name, "size"),
    attribute(name, "queue/logical_block_size"),
  ]);
  return {
    path: `/dev/${name}`,
    backingFile: backing.replace(/ \(deleted\)$/, ""),
    deleted: backing.endsWith(" (deleted)"),
    directIO: dio === "1",
    readOnly: ro === "1",
    autoclear: autoclear === "1",
    // sysfs counts in 512-byte units whatever the sector size is.
    sizeBytes: Number(size ?? 0) * 512,
    sectorSize: Number(sector ?? 512),
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
