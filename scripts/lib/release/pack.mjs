// Archives that are the same bytes whenever and wherever they are made of the same files.
import { execFile } from "node:child_process";
import { chmod, lstat, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";

const execute = promisify(execFile);

/** Writes `folder`, which lies below `parent`, as `file`, a .tar.gz; all of it is of the time `epoch`, in seconds. */
export async function packFolder({ parent, folder, file, epoch }) {
  await settleModes(join(parent, folder));
  const steady = [
    "--sort=name",
    `--mtime=@${epoch}`,
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--format=ustar",
  ];
  const { stdout } = await execute("tar", [...steady, "-cf", "-", "-C", parent, folder], {
    encoding: "buffer",
    maxBuffer: 1 << 30,
  });
  // Its header has no time and no name.
  await writeFile(file, gzipSync(stdout, { level: 9 }));
}

/** Modes without this machine's umask: 0755 for folders and what can be run, 0644 for the rest. */
export async function settleModes(path) {
  const info = await lstat(path);
  if (info.isSymbolicLink()) return;
  await chmod(path, info.isDirectory() || (info.mode & 0o100) !== 0 ? 0o755 : 0o644);
  if (info.isDirectory()) for (const name of await readdir(path)) await settleModes(join(path, name));
}
