import { readFile, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import type { Exec, Volume } from "@mooring/engine";
import type { AttachedVolume } from "./context.ts";

/** Puts the volume's mutable parameters into effect on its device. */
export async function applyTuning(volume: Volume, attached: AttachedVolume): Promise<void> {
  const readAhead = volume.spec.mutableParameters?.readAheadKiB;
  if (readAhead === undefined || attached.kind !== "device") return;
  await writeFile(`/sys/block/${basename(attached.path)}/queue/read_ahead_kb`, readAhead);
}

/**
 * Lets a device refuse writes, or take them again. The kernel keeps this with the loop device's number, not with the
 * image, so a volume that comes after must not inherit it: staging always asks for a writable device.
 */
export async function setDeviceReadOnly(exec: Exec, device: string, readOnly: boolean): Promise<void> {
  const mark = readOnly ? "1" : "0";
  if ((await readFile(`/sys/class/block/${basename(device)}/ro`, "utf8")).trim() === mark) return;
  await exec.run("blockdev", [readOnly ? "--setro" : "--setrw", device]);
}
