// What the image has for pools in Ceph clusters: the clients, and the python that one of them is written in.
import { execFile } from "node:child_process";
import { lstat, realpath } from "node:fs/promises";
import { basename } from "node:path";
import { promisify } from "node:util";
import { stop } from "../say.mjs";

const execute = promisify(execFile);

/** By Debian's package. The kernel's client opens the images; its module is the machine's. */
export const CEPH_PROGRAMS = {
  "ceph-common": ["rbd", "ceph"],
  kmod: ["modprobe"],
  "python3-minimal": ["python3"],
};
/** What `ceph` imports, and what those import. */
const MODULES = ["python3-rados", "python3-ceph-argparse", "python3-prettytable", "python3-wcwidth"];

/** Files of python's own library and of the modules that `ceph` needs. */
export async function pythonFiles() {
  const version = basename(await realpath("/usr/bin/python3"));
  const packages = [...MODULES, `lib${version}-minimal`, `lib${version}-stdlib`];
  const { stdout } = await execute("dpkg", ["-L", ...packages], { maxBuffer: 16 << 20 }).catch(() =>
    stop("The image needs Ceph's clients, which are missing here.", "apt-get install -y ceph-common kmod"),
  );
  // Some modules look for their own version.
  const wanted = /^\/usr\/lib\/.*(\.py|\.so|\.txt|\/METADATA|\/PKG-INFO)$/;
  const files = [];
  for (const path of new Set(stdout.split("\n")))
    if (wanted.test(path) && (await lstat(path)).isFile()) files.push(path);
  return files;
}
