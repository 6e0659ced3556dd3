import { existsSync } from "node:fs";
import { release } from "node:os";
import { EngineError } from "../../errors.ts";
import type { Exec } from "../host.ts";
import { probe } from "./probe.ts";

/**
 * Before 6.7 (temporary fsids) the kernel identifies a btrfs by its UUID alone: mounting a copy beside its origin gives the
 * origin, and writes to the copy go there. UUIDs are never changed, so such a mount is refused.
 */
export function distinguishesBtrfsCopies(kernelRelease: string): boolean {
  const [major = 0, minor = 0] = kernelRelease.split(/[.-]/).map(Number);
  return major > 6 || (major === 6 && minor >= 7);
}

/** Throws FAILED_PRECONDITION when a file system with the same UUID is mounted and the kernel would mix them up. */
export async function requireDistinct(exec: Exec, device: string, kernel: string = release()): Promise<void> {
  if (distinguishesBtrfsCopies(kernel)) return;
  const found = await probe(exec, device);
  const uuid = found.kind === "filesystem" ? found.uuid : undefined;
  if (uuid === undefined || !existsSync(`/sys/fs/btrfs/${uuid}`)) return;
  const message = `a btrfs with the UUID of ${device} is mounted, and Linux ${kernel} cannot distinguish the two`;
  throw new EngineError("FAILED_PRECONDITION", message, {
    hint: "use Linux 6.7 or later, use xfs or ext4 for volumes that are cloned, or stop the other one first",
  });
}
