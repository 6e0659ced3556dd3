import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Check, check } from "./check.ts";

const NAME = "devices of Ceph images";
const PACKAGES = "apt-get install -y ceph-common qemu-system-common qemu-block-extra";
const PROGRAMS = ["rbd", "ceph", "qemu-storage-daemon"];
const MODULES = ["x86_64-linux-gnu/qemu", "aarch64-linux-gnu/qemu", "qemu"];

/** How images of a pool in a Ceph cluster become devices here, and why so. */
export async function rbdCheck(): Promise<Check> {
  const folders = [...(process.env.PATH ?? "").split(":"), "/usr/sbin", "/sbin"];
  const missing = PROGRAMS.filter((name) => !folders.some((folder) => existsSync(join(folder, name))));
  if (missing.length === 0 && !(await hasBlockDriver())) missing.push("qemu's driver for rbd");
  if (missing.length > 0) {
    const detail = `none: ${missing.join(", ")} not found, so pools of type rbd cannot be used`;
    return check(NAME, "warn", detail, PACKAGES);
  }
  if (!existsSync("/dev/fuse"))
    return check(
      NAME,
      "warn",
      "none: the kernel has no FUSE, so pools of type rbd cannot be used",
      "modprobe fuse",
    );
  return check(NAME, "ok", `by qemu-storage-daemon (FUSE) behind a loop device: ${why()}`);
}

function why(): string {
  if (existsSync("/sys/bus/rbd")) return "the kernel's own rbd is not used yet";
  if (existsSync("/sys/module/nbd")) return "the kernel has no rbd, and its nbd is not used yet";
  return "the kernel has neither rbd nor nbd";
}

async function hasBlockDriver(): Promise<boolean> {
  for (const folder of MODULES) {
    const names = await readdir(join("/usr/lib", folder)).catch((): string[] => []);
    if (names.some((name) => name.startsWith("block-rbd"))) return true;
  }
  return false;
}
