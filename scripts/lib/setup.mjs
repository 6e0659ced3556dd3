import { createHash } from "node:crypto";
import { accessSync, constants, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { oneAtATime } from "./one-at-a-time.mjs";
import { run } from "./run.mjs";
import { say, stop } from "./say.mjs";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Where the runtime expects runc (packages/standalone/src/runtime/runc.ts); a runc anywhere else is none. */
const RUNC_FOLDERS = ["/usr/sbin", "/usr/bin", "/usr/local/sbin"];
/** What the machine must have, and why. `command` shows whether it is there: in `folders`, else on the PATH. */
const SYSTEM = [
  { command: "mkfs.xfs", package: "xfsprogs", why: "makes and grows XFS pools and volumes" },
  { command: "mkfs.btrfs", package: "btrfs-progs", why: "makes btrfs pools and volumes" },
  { command: "mkfs.ext4", package: "e2fsprogs", why: "makes, checks and grows ext4 volumes" },
  { command: "losetup", package: "mount", why: "puts a block device on an image" },
  { command: "runc", package: "runc", why: "runs containers, as in Kubernetes", folders: RUNC_FOLDERS },
  {
    command: "perl",
    package: "perl-base",
    why: "stays with a container, or a shared volume, when Mooring is killed",
  },
  { command: "skopeo", package: "skopeo", why: "brings the images of containers here" },
  { command: "umoci", package: "umoci", why: "unpacks them" },
  { command: "ganesha.nfsd", package: "nfs-ganesha-vfs", why: "serves volumes that several nodes use" },
  { command: "nfs-cat", package: "libnfs-utils", why: "reads shared volumes without a kernel's help" },
  { command: "sqlite3", package: "sqlite3", why: "the demo's workload is a database under constant writes" },
];
const PATH = [...(process.env.PATH ?? "").split(":"), "/usr/sbin", "/sbin"];

function isThere({ command, folders = PATH }) {
  return folders.some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function checkNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  stop(
    `Mooring needs Node.js 20.19 or newer; this is ${process.versions.node}.`,
    "install a current Node.js, then run this again",
  );
}

function checkPlatform(command) {
  if (process.platform !== "linux")
    stop(`Mooring mounts Linux volumes; this is ${process.platform}.`, "run it on a Linux machine");
  if (process.getuid() !== 0) stop("Loop devices and mounts need root.", `sudo ${command}`);
}

/** Installs npm packages when the lock file has changed since the last time. */
async function npmPackages() {
  const stamp = join(ROOT, "node_modules", ".mooring-lock");
  const wanted = createHash("sha256")
    .update(readFileSync(join(ROOT, "package-lock.json")))
    .digest("hex");
  const isDone = () => existsSync(stamp) && readFileSync(stamp, "utf8") === wanted;
  if (isDone()) return;
  // Two installations at once remove each other's packages, and both believe that all is well.
  await oneAtATime(ROOT, async () => {
    if (!isDone()) await install(stamp, wanted);
  });
}

async function install(stamp, wanted) {
  say("Installing npm packages (once) ...");
  if ((await run("npm", ["ci", "--no-audit", "--no-fund"], { quiet: true, cwd: ROOT })) !== 0) {
    stop(
      "npm could not install the packages.",
      "check the network and the registry of npm, then run this again",
    );
  }
  writeFileSync(stamp, wanted);
}

/** For `./mooring`: packages are needed, root may not be. */
export async function checkPackages() {
  checkNode();
  await npmPackages();
}

/** Installs what is missing of the system's packages, saying what and why. */
async function systemPackages(more) {
  const missing = [...SYSTEM, ...more].filter((entry) => !isThere(entry));
  if (missing.length === 0) return;
  const names = missing.map((entry) => entry.package);
  const line = `apt-get install -y ${names.join(" ")}`;
  if (!isThere({ command: "apt-get" })) {
    stop(
      `These programs are missing: ${missing.map((entry) => entry.command).join(", ")}.`,
      `install them with your distribution's package manager (on Debian and Ubuntu: ${line})`,
    );
  }
  say("Installing system packages (once):");
  for (const entry of missing) say(`  ${entry.package.padEnd(12)} ${entry.why}`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  await run("apt-get", ["update", "-q"], { quiet: true, env });
  // Another command may be installing at the same moment.
  const install = ["install", "-y", "-q", "-o", "DPkg::Lock::Timeout=300", "--no-install-recommends"];
  const exit = await run("apt-get", [...install, ...names], { quiet: true, env });
  if (exit !== 0) stop("apt-get could not install them.", line);
}

/**
 * Everything a command of this repository needs; a second call costs milliseconds. `more`: system packages that only
 * this command needs, as in SYSTEM.
 */
export async function setUp(command, more = []) {
  checkNode();
  checkPlatform(command);
  await systemPackages(more);
  await npmPackages();
}
