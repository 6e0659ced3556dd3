import { readFile, readlink } from "node:fs/promises";
import { basename } from "node:path";

/** A process that cannot be mistaken for a later one with the same number, as long as the machine is not restarted. */
export interface ProcessIdentity {
  pid: number;
  /** Field 22 of /proc/PID/stat: clock ticks between boot and start. */
  startTicks: string;
}

/** Identifies this run of the kernel. */
export async function bootID(): Promise<string> {
  return (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
}

/** Undefined when there is no such process, or it is a zombie. */
export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  const stat = await readProc(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The second field is the program's name in parentheses and may contain both spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state] = fields;
  const startTicks = fields[19];
  if (startTicks === undefined || state === "Z" || state === "X") return undefined;
  return { pid, startTicks };
}

export async function isAlive(process: ProcessIdentity): Promise<boolean> {
  return (await identify(process.pid))?.startTicks === process.startTicks;
}

/** Sends a signal unless the process is gone or the number belongs to another one by now. */
export async function signalProcess(target: ProcessIdentity, signal: NodeJS.Signals): Promise<boolean> {
  if (!(await isAlive(target))) return false;
  try {
    process.kill(target.pid, signal);
    return true;
  } catch {
    return false;
  }
}

/** The process that is number `inner` in the pid namespace whose init is `init`. */
export async function findInNamespace(init: number, inner: number): Promise<ProcessIdentity | undefined> {
  const children = await readProc(`/proc/${init}/task/${init}/children`);
  for (const word of (children ?? "").split(" ")) {
    const pid = Number(word);
    if (pid <= 0) continue;
    const status = await readProc(`/proc/${pid}/status`);
    const numbers = /^NSpid:\s+(.*)$/m.exec(status ?? "")?.[1]?.split(/\s+/) ?? [];
    if (Number(numbers.at(-1)) === inner) return identify(pid);
  }
  return undefined;
}

/** File name of the program that a process runs; undefined when it has ended. */
export async function programOf(pid: number): Promise<string | undefined> {
  const path = await readlink(`/proc/${pid}/exe`).catch(() => undefined);
  return path === undefined ? undefined : basename(path);
}

async function readProc(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch {
    return undefined;
  }
}
