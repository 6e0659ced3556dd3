import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { MountEntry } from "@mooring/engine";
import type { IoController } from "../../context.ts";

/** Finds the io controller: it may be with the version 1 hierarchy (`blkio`), or not in the kernel at all. */
export async function ioController(
  mounts: readonly Pick<MountEntry, "fsType" | "target" | "superOptions">[],
): Promise<IoController> {
  const hierarchies = mounts.filter(({ fsType }) => fsType === "cgroup2");
  for (const { target } of hierarchies) {
    const text = await readFile(join(target, "cgroup.controllers"), "utf8").catch(() => "");
    if (text.split(/\s+/).includes("io")) return { root: target };
  }
  if (hierarchies.length === 0) return { missing: "no version 2 hierarchy of control groups is mounted" };
  const old = mounts.some(
    ({ fsType, superOptions }) => fsType === "cgroup" && superOptions.includes("blkio"),
  );
  return {
    missing: old
      ? "its io controller is with the version 1 hierarchy (blkio), which cannot limit buffered writes"
      : "its version 2 hierarchy of control groups has no io controller",
  };
}
