// What pods run, made of this machine's files: Debian's static busybox, also as the container that holds a pod's network.
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { writeArchive } from "../../../../scripts/lib/image/archive.mjs";

const execute = promisify(execFile);
export const BUSYBOX = "docker.io/library/busybox-of-debian:1";

/** Writes an OCI archive of it. */
export async function busyboxImage(file) {
  const work = await mkdtemp(join(tmpdir(), "mooring-busybox-"));
  try {
    const bin = join(work, "root", "bin");
    await mkdir(bin, { recursive: true });
    await mkdir(join(work, "root", "tmp"));
    await copyFile("/bin/busybox", join(bin, "busybox"));
    const { stdout } = await execute("/bin/busybox", ["--list"]);
    for (const name of stdout.split("\n").filter((each) => each !== "" && each !== "busybox"))
      await symlink("busybox", join(bin, name));
    const entrypoint = ["/bin/busybox", "sleep", "1000000000"];
    await writeArchive({ root: join(work, "root"), work, name: BUSYBOX, file, entrypoint });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
