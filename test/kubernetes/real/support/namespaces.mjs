// A machine of its own for a cluster: mounts, processes and network that nobody else sees, and that all end with it.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readdir, rmdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { until } from "./program.mjs";
import { attachedLoops, deviceOf } from "./traces.mjs";

const execute = promisify(execFile);
const CGROUPS = "/sys/fs/cgroup";

/** Folders of the machine that a kubelet, its runtime and what it runs write to. */
const OWN = ["/var/lib", "/var/log", "/run"];
const PACKAGES = "/var/lib/dpkg";
/** What a kubelet sets for the whole machine. */
const SYSCTLS = { "vm/overcommit_memory": 1, "kernel/panic": 10, "kernel/panic_on_oops": 1 };

/** Runs a script as the first process of a new machine; returns its exit code. When it ends, all of its machine does. */
export async function runApart(script, args) {
  const child = spawn(
    "unshare",
    [
      ...[
        "--mount",
        "--pid",
        "--net",
        "--uts",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "--propagation",
        "slave",
      ],
      ...[process.execPath, script, ...args],
    ],
    { stdio: "inherit" },
  );
  const [code] = await once(child, "exit");
  return code ?? 1;
}

/**
 * To be called first of all by the first process of a machine. `folder`: what would be in /var and /run is there. `addresses`:
 * of its loopback.
 */
export async function furnish(folder, { hostname, addresses }) {
  await execute("mount", ["--make-rshared", "/"]);
  await execute("hostname", [hostname]);
  // Which packages there are is as it was: an image of Mooring is made of them.
  const packages = join(folder, "machine", PACKAGES);
  await mkdir(packages, { recursive: true });
  await execute("mount", ["--bind", "-o", "ro", PACKAGES, packages]);
  for (const at of OWN) {
    const own = join(folder, "machine", at);
    await mkdir(own, { recursive: true });
    await execute("mount", ["--rbind", own, at]);
  }
  for (const [name, value] of Object.entries(SYSCTLS)) {
    const file = join(folder, "machine", name.replace("/", "."));
    await writeFile(file, `${value}\n`);
    await execute("mount", ["--bind", file, `/proc/sys/${name}`]);
  }
  // Whoever mounts it first for a network decides for all whether it can be written, and containers would mount it to be read.
  const sys = join(folder, "machine", "sys");
  await mkdir(sys);
  await execute("mount", ["-t", "sysfs", "sysfs", sys]);
  await execute("ip", ["link", "set", "lo", "up"]);
  for (const address of addresses) await execute("ip", ["address", "add", `${address}/32`, "dev", "lo"]);
}

/** The controllers of cgroup v1, each a hierarchy of its own; of v2 there is one hierarchy. */
async function hierarchies() {
  if (existsSync(join(CGROUPS, "cgroup.controllers"))) return [CGROUPS];
  const names = await readdir(CGROUPS, { withFileTypes: true });
  return names.filter((entry) => entry.isDirectory()).map(({ name }) => join(CGROUPS, name));
}

/** A control group in every hierarchy, below which the kubelet makes those of pods. */
export async function makeCgroups(name) {
  for (const hierarchy of await hierarchies()) {
    const group = join(hierarchy, name);
    await mkdir(group, { recursive: true });
    // Children of a cpuset have nothing before their parent has something.
    for (const file of ["cpuset.cpus", "cpuset.mems"]) {
      if (!existsSync(join(group, file))) continue;
      const { stdout } = await execute("cat", [join(hierarchy, file)]);
      await writeFile(join(group, file), stdout.trim());
    }
  }
}

/** Takes them away, deepest first, once their processes have ended. */
export async function removeCgroups(name) {
  for (const hierarchy of await hierarchies())
    await until(`${join(hierarchy, name)} to be gone`, () => removeTree(join(hierarchy, name)), 60);
}

async function removeTree(group) {
  if (!existsSync(group)) return true;
  for (const entry of await readdir(group, { withFileTypes: true }))
    if (entry.isDirectory()) await removeTree(join(group, entry.name));
  await rmdir(group);
  return true;
}

/** Files that are devices: pools, and raw volumes of another vendor's driver. */
const IMAGES = ["-name", "pool.img", "-o", "-path", "*/csi-hostpath-data/*", "-type", "f"];

/** Loop devices on files below a folder that a test which failed has left: its mounts are gone, and so are their paths. */
export async function detachLoops(folder) {
  const { stdout } = await execute("find", [folder, "(", ...IMAGES, ")", "-printf", "%i\n"]);
  const inodes = new Set(stdout.split("\n").filter((line) => line !== ""));
  const loops = await attachedLoops();
  const pools = loops.filter(({ inode }) => inodes.has(inode));
  // Images lie on the file system of their pool's device.
  const numbers = new Set(pools.map(({ number }) => number));
  const images = loops.filter(({ on }) => numbers.has(on));
  // A kubelet holds each raw volume by a device of the device's node.
  const nodes = await Promise.all(images.map(async ({ name }) => String((await stat(name)).ino)));
  const dev = await deviceOf("/dev");
  const held = loops.filter(({ inode, on }) => on === dev && nodes.includes(inode));
  for (const { name } of [...held, ...images, ...pools])
    await execute("losetup", ["--detach", name]).catch(() => {});
}
