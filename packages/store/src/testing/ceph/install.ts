import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, readdir } from "node:fs/promises";
import { join } from "node:path";
import { currentPart, thorough } from "../sample.ts";

/** Debian's packages with what a cluster, its clients, the device of an image, and a container image of them need. */
const PACKAGES = [
  "ceph-mon",
  "ceph-mgr",
  "ceph-osd",
  "ceph-common",
  "qemu-system-common",
  "qemu-block-extra",
  "kmod",
] as const;
const PROGRAMS = [
  "ceph-mon",
  "ceph-mgr",
  "ceph-osd",
  "ceph",
  "rbd",
  "qemu-storage-daemon",
  "modprobe",
] as const;
const FOLDERS = [...(process.env["PATH"] ?? "").split(":"), "/usr/sbin", "/usr/bin"];
const NEEDED = `needs Ceph: apt-get install --no-install-recommends ${PACKAGES.join(" ")}`;

async function isThere(): Promise<boolean> {
  const found = PROGRAMS.map(async (program) => {
    const tries = FOLDERS.map((folder) => access(join(folder, program)).then(() => true));
    return Promise.any(tries).catch(() => false);
  });
  return !(await Promise.all(found)).includes(false) && (await hasBlockDriver());
}

/** A module of qemu's own. */
async function hasBlockDriver(): Promise<boolean> {
  for (const folder of ["/usr/lib/x86_64-linux-gnu/qemu", "/usr/lib/aarch64-linux-gnu/qemu", "/usr/lib/qemu"])
    if ((await readdir(folder).catch((): string[] => [])).some((name) => name.startsWith("block-rbd")))
      return true;
  return false;
}

async function apt(...args: string[]): Promise<boolean> {
  // Other test files may be installing it as well.
  const child = spawn("apt-get", ["-y", "-o", "DPkg::Lock::Timeout=300", ...args], {
    stdio: "ignore",
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  });
  const [code] = await once(child, "exit").catch(() => [1]);
  return code === 0;
}

/**
 * Options of a test that needs a Ceph cluster: {@link thorough}, and skipped with what to install where that is not there
 * and cannot be installed. To be waited for at the top of a file: it installs the packages when a test is about to need them.
 */
export async function withCeph(): Promise<{ skip: string | false }> {
  const wanted = thorough();
  if (currentPart() === "everyday" || (await isThere())) return wanted;
  const install = ["install", "--no-install-recommends", ...PACKAGES];
  // Lists of packages may be old, or not there at all.
  const installed = (await apt(...install)) || ((await apt("update")) && (await apt(...install)));
  return installed && (await isThere()) ? wanted : { skip: NEEDED };
}
