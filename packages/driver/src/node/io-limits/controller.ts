import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { CsiError } from "@mooring/csi";
import type { MountEntry } from "@mooring/engine";

/** A controller of the version 2 hierarchy, or why there is none. */
export type IoController = { root: string } | { missing: string };

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

const HINT = "Boot with systemd.unified_cgroup_hierarchy=1, or leave the limits out.";

/** `code`: what the caller's call gives to parameters that cannot be met. */
export function noController(missing: string, code: "invalidArgument" | "failedPrecondition"): CsiError {
  return CsiError[code](`this machine cannot limit input and output: ${missing}`, { hint: HINT });
}
