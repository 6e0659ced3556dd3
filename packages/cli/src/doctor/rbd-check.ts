import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createHost, kernelRbd } from "@mooring/engine";
import { type Check, check } from "./check.ts";

const NAME = "devices of Ceph images";
const PACKAGES = "apt-get install -y ceph-common qemu-system-common qemu-block-extra";
/** What runs commands in the cluster, and what opens images where the kernel cannot. */
const CLIENTS = ["rbd", "ceph"];
const EXPORTS = ["qemu-storage-daemon"];
const MODULES = ["x86_64-linux-gnu/qemu", "aarch64-linux-gnu/qemu", "qemu"];

/** How images of a pool in a Ceph cluster become devices here, and why so. */
export async function rbdCheck(): Promise<Check> {
  const { usable, why } = await kernelRbd(createHost().exec);
  const missing = [...CLIENTS, ...(usable ? [] : EXPORTS)].filter((name) => !isOnPath(name));
  if (!usable && missing.length === 0 && !(await hasBlockDriver())) missing.push("qemu's driver for rbd");
  if (missing.length > 0) {
    const detail = `none: ${missing.join(", ")} not found, so pools of type rbd cannot be used`;
    return check(NAME, "warn", detail, usable ? "apt-get install -y ceph-common" : PACKAGES);
  }
  if (usable) return check(NAME, "ok", `by the kernel's own client, behind a loop device: ${why}`);
  if (!existsSync("/dev/fuse"))
    return check(
      NAME,
      "warn",
      `none: ${why}, and no FUSE, so pools of type rbd cannot be used`,
      "modprobe rbd, or modprobe fuse",
    );
  return check(NAME, "ok", `by qemu-storage-daemon (FUSE) behind a loop device: ${why}`);
}

function isOnPath(program: string): boolean {
  const folders = [...(process.env.PATH ?? "").split(":"), "/usr/sbin", "/sbin"];
  return folders.some((folder) => existsSync(join(folder, program)));
}

async function hasBlockDriver(): Promise<boolean> {
  for (const folder of MODULES) {
    const names = await readdir(join("/usr/lib", folder)).catch((): string[] => []);
    if (names.some((name) => name.startsWith("block-rbd"))) return true;
  }
  return false;
}
