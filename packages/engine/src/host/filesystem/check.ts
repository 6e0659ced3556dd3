import { EngineError } from "../../errors.ts";
import { commandFailed, wasEnded } from "../exec.ts";
import type { Exec } from "../host.ts";
import { requireDistinct } from "./btrfs-copies.ts";
import type { FilesystemType } from "./types.ts";

/** `preen` repairs only what is safe to repair without an operator; there is deliberately no "repair everything". */
export type CheckPolicy = "never" | "preen";

/**
 * Checks an unmounted file system before its mount. XFS and btrfs replay their logs at mount and need no repair.
 * Resolves to whether something was repaired; DATA_LOSS when an operator has to examine it, FAILED_PRECONDITION for a
 * btrfs copy that this kernel would take for its mounted origin.
 */
export async function checkFilesystem(
  exec: Exec,
  device: string,
  type: FilesystemType,
  policy: CheckPolicy,
): Promise<{ repaired: boolean }> {
  if (type === "btrfs") await requireDistinct(exec, device);
  if (policy === "never" || type !== "ext4") return { repaired: false };
  const args = ["-p", device];
  const result = await exec.try("e2fsck", args, { uninterruptible: true });
  // e2fsck(8): 0 clean, 1 corrected; everything from 2 on is not for us to decide.
  if (result.exitCode === 0 || result.exitCode === 1) return { repaired: result.exitCode === 1 };
  if (wasEnded(result)) throw commandFailed("e2fsck", args, result);
  throw new EngineError("DATA_LOSS", `the file system on ${device} needs repair by hand`, {
    hint: `examine it with: e2fsck -n ${device}`,
    cause: commandFailed("e2fsck", args, result),
  });
}
