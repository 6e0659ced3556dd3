import { access, constants, readFile } from "node:fs/promises";
import { join } from "node:path";
import { RUNC_FOLDERS } from "@mooring/standalone";
import { type Check, check } from "./check.ts";
import { MOUNT_PROC } from "./checks-or-failure.ts";
import { rbdCheck } from "./rbd-check.ts";

interface Tool {
  command: string;
  /** Of Debian. */
  package: string;
  /** Nothing works without it. */
  needed: boolean;
  /** Where Mooring runs it from; absent: on the PATH. */
  folders?: readonly string[];
}

/** What Mooring calls. */
const TOOLS: readonly Tool[] = [
  { command: "losetup", package: "mount", needed: true },
  { command: "mount", package: "mount", needed: true },
  { command: "blkid", package: "util-linux", needed: true },
  { command: "fsfreeze", package: "util-linux", needed: true },
  { command: "mkfs.ext4", package: "e2fsprogs", needed: true },
  { command: "mkfs.xfs", package: "xfsprogs", needed: true },
  { command: "mkfs.btrfs", package: "btrfs-progs", needed: false },
  { command: "ganesha.nfsd", package: "nfs-ganesha-vfs", needed: false },
  { command: "mount.nfs4", package: "nfs-common", needed: false },
  { command: "runc", package: "runc", needed: true, folders: RUNC_FOLDERS },
  { command: "perl", package: "perl-base", needed: true },
];
const CAP_SYS_ADMIN = 21n;
const CAP_SYS_RESOURCE = 24n;

const onPath = (): string[] => [...(process.env.PATH ?? "").split(":"), "/usr/sbin", "/sbin"];

async function isThere({ command, folders = onPath() }: Tool): Promise<boolean> {
  const tries = folders.map((folder) =>
    access(join(folder, command), constants.X_OK).then(
      () => true,
      () => false,
    ),
  );
  return (await Promise.all(tries)).includes(true);
}

/** What a file of /proc has; an error where it cannot be read. */
async function readProc(path: string): Promise<string | Error> {
  return readFile(path, "utf8").catch((error: Error) => error);
}

/** Nothing of Mooring works without /proc, and nothing is known of the machine. */
function cannotCheck(what: string, { message }: Error): Check {
  return check(what, "fail", `cannot be checked: ${message}`, MOUNT_PROC);
}

async function tools(): Promise<Check[]> {
  return Promise.all(
    TOOLS.map(async (tool) => {
      const { command, package: name, needed } = tool;
      const found = await isThere(tool);
      const state = found ? "ok" : needed ? "fail" : "warn";
      return check(`tool ${command}`, state, found ? "found" : "not found", `apt-get install -y ${name}`);
    }),
  );
}

async function fileSystems(proc: string): Promise<Check[]> {
  const listed = await readProc(join(proc, "filesystems"));
  if (typeof listed !== "string") return [cannotCheck("file systems", listed)];
  const known = listed.split(/\s+/);
  const checks = ["ext4", "xfs", "btrfs"].map((name) =>
    known.includes(name)
      ? check(`file system ${name}`, "ok", "in the kernel")
      : check(`file system ${name}`, "warn", "not loaded", `modprobe ${name}`),
  );
  return [
    ...checks,
    known.includes("nfs4")
      ? check("shared volumes of other nodes", "ok", "the kernel can mount NFS")
      : check(
          "shared volumes of other nodes",
          "warn",
          "the kernel cannot mount NFS yet: shared volumes are usable on the node that serves them only",
          "modprobe nfsv4",
        ),
  ];
}

async function capabilities(proc: string): Promise<Check[]> {
  const status = await readProc(join(proc, "self/status"));
  if (typeof status !== "string") return [cannotCheck("privileges", status)];
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0"}`);
  const has = (bit: bigint): boolean => ((effective >> bit) & 1n) === 1n;
  return [
    has(CAP_SYS_ADMIN)
      ? check("privileges", "ok", "may mount")
      : check("privileges", "fail", "may not mount (CAP_SYS_ADMIN)", "run it as root"),
    has(CAP_SYS_RESOURCE)
      ? check("online growth of ext4", "ok", "allowed")
      : check(
          "online growth of ext4",
          "warn",
          "CAP_SYS_RESOURCE is missing: ext4 grows only while it is not mounted",
          "use xfs or btrfs for volumes that must grow while in use",
        ),
  ];
}

async function loopControl(): Promise<Check> {
  return access("/dev/loop-control", constants.R_OK | constants.W_OK).then(
    () => check("loop devices", "ok", "/dev/loop-control can be used"),
    () =>
      check("loop devices", "fail", "/dev/loop-control cannot be used", "modprobe loop, and run it as root"),
  );
}

/** Everything about the machine that Mooring depends on. `proc`: where its /proc is. */
export async function machineChecks(proc = "/proc"): Promise<Check[]> {
  return [
    ...(await capabilities(proc)),
    await loopControl(),
    ...(await fileSystems(proc)),
    ...(await tools()),
    await rbdCheck(),
  ];
}
