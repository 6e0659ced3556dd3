import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { CsiError } from "@mooring/csi";
import type { Volume } from "@mooring/engine";
import { hasLimits, type IoLimits, ioLimitsOf } from "../../request/parameters.ts";

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
/** Slices in slices in slices: kubelets nest three, schedulers of their own a few more. */
const DEPTH = 6;

/**
 * The workload for which the volume is published, as its target path names it: kubelets have the pod's UID in it, Nomad the
 * allocation's. Control groups are named after the same.
 */
export function workloadsOf(targetPath: string): string[] {
  return [...new Set(targetPath.match(UUID) ?? [])];
}

/** Throws FAILED_PRECONDITION when it is not known whose input and output are to be limited. */
export function requireWorkload({ spec }: Volume, targetPath: string): void {
  if (!hasLimits(ioLimitsOf(spec.mutableParameters)) || workloadsOf(targetPath).length > 0) return;
  throw CsiError.failedPrecondition(
    "the volume has I/O limits, but its target_path names no workload to limit",
    {
      hint: "Have the UID of the pod in the path, as kubelets do; control groups are named after it.",
    },
  );
}

/** The outermost groups that are named after a workload; systemd writes `_` where the id has `-`. */
export async function groupsOf(root: string, workload: string): Promise<string[]> {
  const names = [workload, workload.replaceAll("-", "_")];
  const found: string[] = [];
  const scan = async (folder: string, depth: number): Promise<void> => {
    for (const child of await childGroups(folder)) {
      const path = join(folder, child);
      if (names.some((name) => child.includes(name))) found.push(path);
      else if (depth > 1) await scan(path, depth - 1);
    }
  };
  await scan(root, DEPTH);
  return found;
}

/** Empty for a group that has just gone. */
async function childGroups(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/**
 * Makes these the limits of a group on a device (`7:3`); none takes them away. True when something changed. What is
 * written goes from the root to the group: a controller is switched on by the parent.
 */
export async function limitGroup(
  root: string,
  group: string,
  device: string,
  limits: IoLimits,
): Promise<boolean> {
  const value = (key: keyof IoLimits) => `${key}=${limits[key] ?? "max"}`;
  const wanted = [value("rbps"), value("wbps"), value("riops"), value("wiops")].join(" ");
  const file = join(group, "io.max");
  if ((await present(file, device)) === wanted) return false;
  await switchOn(root, group);
  await writeFile(file, `${device} ${wanted}`);
  return true;
}

const UNLIMITED = "rbps=max wbps=max riops=max wiops=max";

/** A device without limits has no line; without the controller there is no file. */
async function present(file: string, device: string): Promise<string> {
  const text = await readFile(file, "utf8").catch(() => "");
  const line = text.split("\n").find((one) => one.startsWith(`${device} `));
  return line === undefined ? UNLIMITED : line.slice(device.length + 1).trim();
}

async function switchOn(root: string, group: string): Promise<void> {
  const parts = relative(root, group).split("/").slice(0, -1);
  let folder = root;
  for (const part of ["", ...parts]) {
    folder = join(folder, part);
    const file = join(folder, "cgroup.subtree_control");
    const on = (await readFile(file, "utf8")).split(/\s+/);
    if (!on.includes("io")) await writeFile(file, "+io");
  }
}
