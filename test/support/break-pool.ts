import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createHost } from "@mooring/engine";
import { eventually } from "@mooring/store/testing";

const execute = promisify(execFile);

/** The device below the pool takes nothing any more, until its file system has given up; then it works again. */
async function failDevice(folder: string): Promise<void> {
  const { loops } = createHost();
  const device = await loops.find(join(folder, "pool.img"));
  if (device === undefined) throw new Error(`${folder}/pool.img has no device`);
  const mount = join(folder, "mnt");
  await loops.fence(device);
  try {
    await eventually("the pool's file system to give up", async () => {
      const path = join(mount, "probe");
      await writeFile(path, "anything").catch(() => {});
      await execute("sync", ["--file-system", mount]).catch(() => {});
      return writeFile(path, "more").then(
        () => false,
        () => true,
      );
    });
  } finally {
    await loops.restore(device);
  }
}

/** Has the file system of a pool below a state folder give up, with whatever is open in it. */
export async function breakPool(
  stateDir: string,
  { name, type }: { name: string; type: "xfs" | "btrfs" },
): Promise<void> {
  const folder = join(stateDir, "pools", name);
  if (type === "btrfs") return failDevice(folder);
  await execute("xfs_io", ["-x", "-c", "shutdown", join(folder, "mnt")]);
}
