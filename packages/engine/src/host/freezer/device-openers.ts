import { readdir, readFile, readlink, stat } from "node:fs/promises";
import { majorMinor } from "../device-numbers.ts";

/** A process that has a device open. */
export interface Opener {
  pid: number;
  /** Path in the version 2 hierarchy, `/` for the root group; undefined without that hierarchy. */
  cgroup: string | undefined;
}

/** The processes that have the devices (`7:3`) open, by device. Processes come and go: the result may be old when it is
 * there. Only in the own process namespace and those below it.
 */
export async function deviceOpeners(devices: ReadonlySet<string>): Promise<Map<string, Opener[]>> {
  const found = new Map<string, Opener[]>();
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  for (const pid of pids) {
    const open = await openDevices(pid, devices);
    if (open.size === 0) continue;
    const opener = { pid, cgroup: await cgroupOf(pid) };
    for (const device of open) found.set(device, [...(found.get(device) ?? []), opener]);
  }
  return found;
}

async function openDevices(pid: number, devices: ReadonlySet<string>): Promise<Set<string>> {
  const folder = `/proc/${pid}/fd`;
  const numbers = await readdir(folder).catch(() => []);
  const open = await Promise.all(
    numbers.map(async (number) => {
      const path = await readlink(`${folder}/${number}`).catch(() => "");
      // Sockets and pipes have no path.
      if (!path.startsWith("/")) return undefined;
      const info = await stat(`${folder}/${number}`).catch(() => undefined);
      return info?.isBlockDevice() ? majorMinor(info.rdev) : undefined;
    }),
  );
  return new Set(open.filter((device) => device !== undefined && devices.has(device))) as Set<string>;
}

/** `/` or `/a/b`; undefined when the process is gone or the hierarchy is not there. */
export async function cgroupOf(pid: number | "self"): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/cgroup`, "utf8").catch(() => "");
  return /^0::(\/.*)$/m.exec(text)?.[1];
}
