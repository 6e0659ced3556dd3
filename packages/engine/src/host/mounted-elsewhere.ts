import { readdir, readFile, readlink } from "node:fs/promises";

/** The processes that have a file system mounted in another mount namespace, as texts for messages: one of each namespace. `device`: its
 * number, as mountinfo has it. As long as there is one, the kernel gives the same file system to every process that mounts
 * the device.
 */
export async function mountedElsewhere(device: string): Promise<string[]> {
  const seen = new Set([await namespaceOf("self")]);
  const found: string[] = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const namespace = await namespaceOf(pid);
    if (namespace === undefined || seen.has(namespace)) continue;
    seen.add(namespace);
    const mounts = await readFile(`/proc/${pid}/mountinfo`, "utf8").catch(() => "");
    if (!mounts.includes(` ${device} `)) continue;
    const name = await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "");
    found.push(`process ${pid} (${name.trim()})`);
  }
  return found;
}

/** Undefined for a process that has ended. */
function namespaceOf(pid: string): Promise<string | undefined> {
  return readlink(`/proc/${pid}/ns/mnt`).catch(() => undefined);
}
