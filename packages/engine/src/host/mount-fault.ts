import { opendir } from "node:fs/promises";
import type { MountEntry } from "./host.ts";

/** Options that the kernel shows on a file system that has given up writing, or everything. */
const GIVEN_UP = ["shutdown", "emergency_ro"];

/** Why the file system mounted here has failed under its users; undefined when it has not. */
export async function mountFault(mount: MountEntry): Promise<string | undefined> {
  const where = `the ${mount.fsType} file system at ${mount.target}`;
  const shown = GIVEN_UP.find((option) => mount.superOptions.includes(option));
  if (shown !== undefined) return `${where} has failed (${shown})`;
  // Mounted for writing, but the kernel has taken that away.
  if (mount.superOptions.includes("ro") && mount.options.includes("rw"))
    return `${where} has become read-only`;
  return (await readsFail(mount.target)) ? `${where} fails with input/output errors` : undefined;
}

/** XFS shows nothing in its options once it is shut down, but every call fails. */
async function readsFail(target: string): Promise<boolean> {
  try {
    const folder = await opendir(target);
    try {
      await folder.read();
    } finally {
      await folder.close();
    }
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && (error.code === "EIO" || error.code === "EUCLEAN");
  }
}
