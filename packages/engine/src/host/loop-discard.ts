import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { EngineError } from "../errors.ts";
import type { Exec } from "./host.ts";

/**
 * A device whose discards have been taken off. Without them the kernel also writes the zeros that it is asked for (mkfs,
 * ext4), instead of punching holes for them. Devices of files that can have no holes have none to begin with.
 */
export function isWithoutDiscard(name: string): boolean {
  const limit = (file: string): number => {
    const path = `/sys/block/${name}/queue/${file}`;
    return existsSync(path) ? Number(readFileSync(path, "utf8")) : 0;
  };
  return limit("discard_max_bytes") === 0 && limit("discard_max_hw_bytes") > 0;
}

/**
 * What is discarded on the device keeps its blocks in the file, until the device is removed: the kernel never gives them
 * back.
 */
export async function takeOffDiscard(name: string): Promise<void> {
  if (isWithoutDiscard(name)) return;
  try {
    await writeFile(`/sys/block/${name}/queue/discard_max_bytes`, "0");
  } catch (cause) {
    const message = `cannot keep discards on /dev/${name} from its file`;
    throw new EngineError("UNAVAILABLE", message, { hint: "/sys has to be writable", cause });
  }
}

/** Perl, because it has ioctl(2) and every Debian has it. */
const REMOVE_PROGRAM = String.raw`
open(my $control, '+<', '/dev/loop-control') or die "open: $!\n";
ioctl($control, 0x4C81, int($ARGV[0])) or die "LOOP_CTL_REMOVE: $!\n";
`;

/**
 * Removes an unbound device that has no discards: its number is made anew when it is needed, and its next user has them
 * then. One that another process has taken meanwhile stays.
 */
export async function removeWithoutDiscard(exec: Exec, name: string): Promise<void> {
  if (!isWithoutDiscard(name)) return;
  await exec.try("perl", ["-e", REMOVE_PROGRAM, name.replace("loop", "")]);
}
