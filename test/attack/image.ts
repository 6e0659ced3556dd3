import { execFile } from "node:child_process";
import { copyFile, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** What the attempts are made with. */
const APPLETS: readonly string[] = [
  ...["sh", "cat", "echo", "env", "grep", "head", "id", "ls", "mkdir", "mknod", "mount", "mv", "readlink"],
  ...["rm", "sed", "sleep", "stty", "true", "tr"],
];
/** Of these the one program of the others lacks what is tried. */
const PROGRAMS: readonly string[] = ["/usr/bin/find", "/usr/bin/unshare"];

/** The root file system of an image that has all that an attacker needs, and a few links out of it. */
export async function attackersImage(root: string): Promise<void> {
  for (const folder of ["bin", "usr/bin", "etc", "attempts", "out"])
    await mkdir(join(root, folder), { recursive: true });
  await copyFile("/bin/busybox", join(root, "bin/busybox"));
  for (const applet of APPLETS) await symlink("busybox", join(root, "bin", applet));
  const libraries = await Promise.all(PROGRAMS.map(librariesOf));
  for (const file of new Set([...PROGRAMS, ...libraries.flat()])) {
    await mkdir(join(root, dirname(file)), { recursive: true });
    await copyFile(file, join(root, file));
  }
  await writeFile(join(root, "etc/passwd"), "root:x:0:0::/:/bin/sh\n");
  // Where a careless runtime would mount over, or write into, files of the machine.
  await symlink("/proc/1/root", join(root, "outside"));
}

async function librariesOf(program: string): Promise<string[]> {
  const { stdout } = await run("ldd", [program]);
  return stdout.match(/\/\S+/g) ?? [];
}
