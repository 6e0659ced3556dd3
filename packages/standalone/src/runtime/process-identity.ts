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

/** Whether it is still the same process: the number may belong to another one by now, which began later. */
export async function isAlive(process: ProcessIdentity): Promise<boolean> {
  return (await identify(process.pid))?.startTicks === process.startTicks;
}

/** Sends a signal unless the process is gone or the number belongs to another one by now. */
export async function signalProcess(
  target: ProcessIdentity,
  signal: NodeJS.Signals | number,
): Promise<boolean> {
  if (!(await isAlive(target))) return false;
  try {
    process.kill(target.pid, signal);
    return true;
  } catch {
    return false;
  }
}

/**
 * The first process of a container before it has become the container's program. runc runs from a copy of itself in memory
 * or from a read-only mount of its file, which is in no folder and therefore called `/`.
 */
export async function isRunc(pid: number): Promise<boolean> {
  const path = await readlink(`/proc/${pid}/exe`).catch(() => "");
  return path === "/" || basename(path) === "runc" || path.includes("runc_cloned");
}

/** Whether the signal would not end it: it catches it, ignores it, or waits for it where it is blocked. */
export async function survivesSignal({ pid }: ProcessIdentity, signal: number): Promise<boolean> {
  const bit = 1n << BigInt(signal - 1);
  const status = (await readProc(`/proc/${pid}/status`)) ?? "";
  return [...status.matchAll(/^Sig(?:Cgt|Ign|Blk):\s+([0-9a-f]+)$/gm)].some(
    ([, mask]) => (BigInt(`0x${mask}`) & bit) !== 0n,
  );
}

async function readProc(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch {
    return undefined;
  }
}
