import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";

/**
 * The processes that have a file system mounted in another mount namespace, as texts for messages: one of each namespace.
 * `device`: its number, as mountinfo has it. As long as there is one, the kernel gives the same file system to every process
 * that mounts the device. `proc`: where proc(5) is.
 */
export async function mountedElsewhere(device: string, proc = "/proc"): Promise<string[]> {
  const seen = new Set([await namespaceOf(join(proc, "self"))]);
  const found: string[] = [];
  for (const pid of (await readdir(proc)).filter((name) => /^\d+$/.test(name))) {
    const folder = join(proc, pid);
    const namespace = await namespaceOf(folder);
    if (namespace === undefined || seen.has(namespace)) continue;
    const mounts = await readFile(join(folder, "mountinfo"), "utf8").catch(() => "");
    // The process has ended meanwhile: the next one of this namespace has the same mounts.
    if (mounts === "") continue;
    seen.add(namespace);
    if (!mounts.includes(` ${device} `)) continue;
    const name = await readFile(join(folder, "comm"), "utf8").catch(() => "");
    found.push(`process ${pid} (${name.trim()})`);
  }
  return found;
}

/** Undefined for a process that has ended. */
function namespaceOf(folder: string): Promise<string | undefined> {
  return readlink(join(folder, "ns", "mnt")).catch(() => undefined);
}
