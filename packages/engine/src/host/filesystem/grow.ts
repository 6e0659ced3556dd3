import { EngineError } from "../../errors.ts";
import { commandFailed } from "../exec.ts";
import type { Exec, ExecResult } from "../host.ts";
import { readExt4Superblock } from "./ext4-superblock.ts";
import { deviceSize } from "./probe.ts";
import type { FilesystemType } from "./types.ts";

const RESIZE = { uninterruptible: true } as const;

/**
 * Grows an unmounted file system to its device's size where the type can do that (ext4). XFS and btrfs grow only while
 * mounted: call {@link growMounted} after the mount. True when something changed.
 */
export async function growUnmounted(exec: Exec, device: string, type: FilesystemType): Promise<boolean> {
  if (type !== "ext4" || !(await ext4HasRoom(device))) return false;
  // resize2fs refuses without a full check first.
  const check = ["-f", "-p", device];
  const result = await exec.try("e2fsck", check, RESIZE);
  if (result.exitCode === null || result.exitCode > 1) throw commandFailed("e2fsck", check, result);
  await exec.run("resize2fs", [device], RESIZE);
  return true;
}

/** Grows a mounted file system to its device's size. A file system that has that size already is fine. */
export async function growMounted(
  exec: Exec,
  at: { device: string; mountPath: string; type: FilesystemType },
): Promise<void> {
  const { device, mountPath, type } = at;
  switch (type) {
    case "xfs":
      await exec.run("xfs_growfs", [mountPath], RESIZE);
      return;
    case "btrfs":
      await exec.run("btrfs", ["filesystem", "resize", "max", mountPath], RESIZE);
      return;
    case "ext4":
      if (await ext4HasRoom(device)) growResult(device, await exec.try("resize2fs", [device], RESIZE));
  }
}

/** Growing mounted ext4 is an ioctl that needs CAP_SYS_RESOURCE, which many containers do not have. */
function growResult(device: string, result: ExecResult): void {
  if (result.exitCode === 0) return;
  if (/permission denied/i.test(result.stderr)) {
    throw new EngineError(
      "FAILED_PRECONDITION",
      `the kernel does not let us grow ext4 on ${device} while it is mounted`,
      {
        hint: "give the node agent CAP_SYS_RESOURCE, or restart the workload: the file system is grown before the next mount",
        cause: commandFailed("resize2fs", [device], result),
      },
    );
  }
  throw commandFailed("resize2fs", [device], result);
}

async function ext4HasRoom(device: string): Promise<boolean> {
  const { blocks, blockSize } = await readExt4Superblock(device);
  return (await deviceSize(device)) - blocks * blockSize >= blockSize;
}
