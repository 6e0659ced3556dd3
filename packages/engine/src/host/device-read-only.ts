import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import type { Exec } from "./host.ts";

/**
 * Lets a device refuse writes, or take them again. The kernel keeps this with the loop device's number, not with the
 * image, so a volume that comes after must not inherit it: staging always sets the device writable first.
 */
export async function setDeviceReadOnly(exec: Exec, device: string, readOnly: boolean): Promise<void> {
  const mark = readOnly ? "1" : "0";
  if ((await readFile(`/sys/class/block/${basename(device)}/ro`, "utf8")).trim() === mark) return;
  await exec.run("blockdev", [readOnly ? "--setro" : "--setrw", device]);
}
