import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, type FileHandle, open, readdir, readFile } from "node:fs/promises";
import { EngineError } from "../../errors.ts";
import { cannotStart } from "../../host/exec.ts";
import type { Clock } from "../../host/host.ts";
import { absent } from "../../pools/file-images.ts";
import type { ServerSocket } from "./config.ts";
import type { ShareLayout } from "./layout.ts";
import { isServing } from "./probe.ts";

const PROGRAM = "ganesha.nfsd";
const FILE_SYSTEMS = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib", "/usr/lib64"];
/** More than the paths of our files can have. */
const COMMAND_LINE_BYTES = 16_384;
const START_MS = 60_000;
const POLL_MS = 50;
const PROBE_MS = 2000;
/** What is under way is written in this time, or not at all. */
const KILL_AFTER_MS = 10_000;

/**
 * Process ids of the server of this configuration, of whatever life of the agent: the argument that names the file is
 * its own. More than one when an agent was killed in between; none will be ended that is not ours.
 */
export async function findServers({ config }: ShareLayout): Promise<number[]> {
  const pids: number[] = [];
  const buffer = Buffer.allocUnsafe(COMMAND_LINE_BYTES);
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const [program = "", ...args] = (await commandLine(entry, buffer)).split("\0");
    if (program.endsWith(PROGRAM) && args[args.indexOf("-f") + 1] === config) pids.push(Number(entry));
  }
  return pids;
}

/**
 * As much as the buffer holds. `readFile` makes room for 64 KiB for each of the machine's processes; a synchronous read would
 * have us all wait for one that is in trouble.
 */
async function commandLine(pid: string, buffer: Buffer): Promise<string> {
  let file: FileHandle | undefined;
  try {
    file = await open(`/proc/${pid}/cmdline`);
    const { bytesRead } = await file.read(buffer, 0, buffer.length);
    return buffer.toString("utf8", 0, bytesRead);
  } catch {
    // It has ended meanwhile.
    return "";
  } finally {
    await file?.close();
  }
}

/** Starts the server; it outlives us. Resolves when it responds, throws when it ends before. */
export async function startServer(
  layout: ShareLayout,
  socket: ServerSocket,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const args = ["-F", "-f", layout.config, "-L", layout.log, "-p", layout.pidFile];
  const child = spawn(PROGRAM, args, { detached: true, stdio: "ignore", cwd: "/" });
  try {
    await once(child, "spawn");
  } catch (cause) {
    throw cause instanceof Error ? cannotStart(PROGRAM, {}, cause) : cause;
  }
  child.unref();
  const end = clock.sinceBoot() + START_MS;
  while (!(await isServing(socket, PROBE_MS))) {
    if (child.exitCode !== null || child.signalCode !== null) throw await ended(layout);
    if (clock.sinceBoot() > end) {
      throw new EngineError(
        "UNAVAILABLE",
        `${PROGRAM} does not respond on ${socket.address}:${socket.port}`,
        {
          hint: `see ${layout.log}`,
        },
      );
    }
    await clock.sleep(POLL_MS, signal);
  }
}

async function ended(layout: ShareLayout): Promise<EngineError> {
  const known = await Promise.all(FILE_SYSTEMS.map((folder) => exists(`${folder}/ganesha/libfsalvfs.so`)));
  if (!known.includes(true)) {
    const hint = "install it: apt-get install nfs-ganesha-vfs";
    return new EngineError("FAILED_PRECONDITION", `${PROGRAM} lacks its module for local file systems`, {
      hint,
    });
  }
  const log = (await readFile(layout.log, "utf8").catch(absent)) ?? "";
  const output = log.trim().split("\n").slice(-2).join("; ");
  return new EngineError("INTERNAL", `${PROGRAM} has ended while it started: ${output}`, {
    hint: `see ${layout.log}`,
  });
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Has the server take over who is let in; those who stay do not notice. */
export async function rereadConfig(layout: ShareLayout): Promise<void> {
  for (const pid of await findServers(layout)) kill(pid, "SIGHUP");
}

/** Ends the server's processes, gently first. Resolves when they are gone. */
export async function endServer(layout: ShareLayout, clock: Clock): Promise<void> {
  const gentle = clock.sinceBoot() + KILL_AFTER_MS;
  for (let signalled = new Set<number>(); ; ) {
    const pids = await findServers(layout);
    if (pids.length === 0) return;
    for (const pid of pids) {
      const hard = clock.sinceBoot() > gentle;
      if (hard || !signalled.has(pid)) kill(pid, hard ? "SIGKILL" : "SIGTERM");
    }
    signalled = new Set([...signalled, ...pids]);
    await clock.sleep(POLL_MS);
  }
}

function kill(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It went by itself.
  }
}
