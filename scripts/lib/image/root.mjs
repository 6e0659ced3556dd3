// The file system of the image: the programs that Mooring runs, the libraries that those need, Node.js and the command.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { copyPackages, copyProgram } from "../program-folder.mjs";
import { settleModes } from "../release/pack.mjs";
import { stop } from "../say.mjs";
import { CEPH_PROGRAMS, pythonFiles } from "./ceph.mjs";

const execute = promisify(execFile);

/** What Mooring runs, by Debian's package; `mooring doctor` checks the same. */
const PROGRAMS = {
  coreutils: [
    ...[
      "cat",
      "chmod",
      "cp",
      "dd",
      "df",
      "echo",
      "env",
      "ls",
      "mkdir",
      "mknod",
      "mv",
      "readlink",
      "rm",
      "rmdir",
      "sleep",
    ],
    ...["stat", "sync", "test", "timeout", "touch", "true", "truncate"],
  ],
  dash: ["sh"],
  grep: ["grep"],
  procps: ["ps"],
  "perl-base": ["perl"],
  mount: ["mount", "umount", "losetup"],
  "util-linux": [
    ...[
      "blkdiscard",
      "blkid",
      "blockdev",
      "fallocate",
      "findmnt",
      "flock",
      "fsfreeze",
      "lsblk",
      "nsenter",
      "setsid",
      "unshare",
    ],
    ...["wipefs"],
  ],
  xfsprogs: ["mkfs.xfs", "xfs_io", "xfs_repair", "xfs_growfs", "xfs_admin", "xfs_db"],
  e2fsprogs: ["mkfs.ext4", "e2fsck", "resize2fs", "dumpe2fs", "tune2fs", "chattr", "lsattr", "filefrag"],
  "btrfs-progs": ["btrfs", "mkfs.btrfs", "btrfstune"],
  "nfs-ganesha-vfs": ["ganesha.nfsd"],
  "nfs-common": ["mount.nfs4"],
};
/** What programs load while they run, and so do not show. */
const LOADED = ["ganesha/libfsalvfs.so", "libnfsidmap/nsswitch.so"];
/** By which transports NFS goes. */
const NETCONFIG = "/etc/netconfig";
const LIBRARIES = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"];
const FOLDERS = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** `ceph`: with the programs of {@link CEPH_PROGRAMS}, for pools in Ceph clusters. */
export async function fillRoot(root, { ceph = false } = {}) {
  for (const folder of [
    "usr/bin",
    "usr/sbin",
    "usr/lib",
    "usr/lib64",
    "etc",
    "dev",
    "proc",
    "sys",
    "run",
    "tmp",
    "var/lib",
    "opt/mooring",
  ])
    await mkdir(join(root, folder), { recursive: true });
  for (const name of ["bin", "sbin", "lib", "lib64"]) await symlink(`usr/${name}`, join(root, name));
  const { named, libraries, perl, python } = await filesOfImage({ ceph });
  for (const [name, from] of named) await program(root, name, from);
  for (const library of libraries) await file(root, library);
  for (const module of [...perl, ...python]) await copied(module, join(root, module));
  await users(root);
  await command(root);
  // A user that is not root runs there, too, whatever this machine's umask is.
  await settleModes(root);
  await chmod(join(root, "tmp"), 0o1777);
}

/** What of this machine is in the image: programs, each with its name; libraries; and modules of perl and python. */
export async function filesOfImage({ ceph = false } = {}) {
  const named = programs({ ...PROGRAMS, ...(ceph ? CEPH_PROGRAMS : {}) });
  const python = ceph ? await pythonFiles() : [];
  const shared = python.filter((path) => path.endsWith(".so"));
  const files = [...named.map(([, from]) => from), ...modules(), ...shared];
  const libraries = new Set(modules());
  for (const path of files)
    for (const library of await librariesOf(await realpath(path))) libraries.add(library);
  return { named, libraries, perl: await perlModules(), python, more: [NETCONFIG] };
}

/** Pairs of a name and the file behind it on this machine. */
function programs(wanted) {
  const missing = [];
  const found = [["node", process.execPath]];
  for (const [pack, names] of Object.entries(wanted)) {
    for (const name of names) {
      const at = FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path));
      if (at === undefined) missing.push(pack);
      else found.push([name, at]);
    }
  }
  if (missing.length > 0)
    stop(
      "Programs that the image needs are missing here.",
      `apt-get install -y ${[...new Set(missing)].join(" ")}`,
    );
  return found;
}

function modules() {
  return LOADED.map((name) => {
    const found = LIBRARIES.map((folder) => join(folder, name)).find((path) => existsSync(path));
    if (found === undefined)
      stop(`The image needs ${name}, which is missing here.`, "apt-get install -y nfs-ganesha-vfs");
    return found;
  });
}

/** Several names may be one file (`mkfs.ext4` is `mke2fs`): it is in the image once. */
async function program(root, name, from) {
  const real = await realpath(from);
  const where = join(root, "usr", from.includes("/sbin/") ? "sbin" : "bin");
  const target = join(where, basename(real));
  if (!existsSync(target)) await cp(real, target, { dereference: true });
  if (basename(real) !== name && !existsSync(join(where, name)))
    await symlink(basename(real), join(where, name));
}

async function librariesOf(path) {
  const { stdout } = await execute("ldd", [path]).catch(() => ({ stdout: "" }));
  return [...stdout.matchAll(/(\/\S+)(?= \(0x)/g)].map(([, library]) => library);
}

/** Under the name by which it is started, whatever file that leads to. */
async function file(root, path) {
  const inside = path.startsWith("/usr/") ? path : `/usr${path}`;
  const target = join(root, inside);
  if (!existsSync(target)) await copied(await realpath(path), target);
}

async function copied(from, to) {
  await mkdir(dirname(to), { recursive: true });
  await cp(from, to, { dereference: true });
}

/** Of perl-base: what a program finds without any other package. */
async function perlModules() {
  const { stdout } = await execute("dpkg", ["-L", "perl-base"]);
  return stdout
    .split("\n")
    .filter((path) => /\.(pm|pl|so|ix|al)$/.test(path) && path.startsWith("/usr/lib/"));
}

async function users(root) {
  await writeFile(
    join(root, "etc/passwd"),
    "root:x:0:0:root:/root:/bin/sh\nmooring:x:65532:65532:mooring:/tmp:/bin/sh\n",
  );
  await writeFile(join(root, "etc/group"), "root:x:0:\nmooring:x:65532:\n");
  await writeFile(join(root, "etc/nsswitch.conf"), "hosts: files dns\n");
  await cp(NETCONFIG, join(root, NETCONFIG));
  // Programs write what is mounted there in the old way.
  await symlink("/proc/self/mounts", join(root, "etc/mtab"));
  await writeFile(join(root, "etc/machine-id"), "");
}

async function command(root) {
  const opt = join(root, "opt/mooring");
  await copyProgram(opt);
  await copyPackages(opt);
  await writeFile(
    join(root, "usr/bin/mooring"),
    '#!/bin/sh\nexec /usr/bin/node /opt/mooring/dist/mooring.mjs "$@"\n',
    { mode: 0o755 },
  );
}
