import { readFileSync, writeFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { writeFailure } from "../runtime/disk-errors.ts";
import { ownerFile, requireFiles } from "./files.ts";
import { StoreOpenError } from "./open-error.ts";

/**
 * Makes this process the only one that uses the folder. The lock is a listening socket in Linux' abstract namespace,
 * named by the folder's device, inode and time of birth: the kernel drops it however the process ends, so nothing stale
 * can stay. The birth is in it because a file system gives the inode of a removed folder, whose process may still run,
 * to the next folder that is made; a file system that knows no birth says zero of every folder.
 * The file `owner` beside the data only names who has it, and covers processes in another network namespace, which
 * cannot see the socket. Returns the release. Throws StoreOpenError (Locked), FileKindError.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  requireFiles(folder);
  const { dev, ino, birthtimeNs } = await stat(folder, { bigint: true });
  const file = ownerFile(folder);
  const server = createServer((socket) => socket.destroy());
  try {
    await listen(server, `\0mooring-store-${dev}-${ino}-${birthtimeNs}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    throw locked(folder, await ownerOnceWritten(file));
  }
  try {
    const owner = readOwner(file);
    if (owner !== undefined && owner.pid !== process.pid && startTimeOf(owner.pid) === owner.startTime)
      throw locked(folder, owner.pid);
    writeOwner(file);
  } catch (error) {
    await close(server);
    throw error;
  }
  return () => {
    // Emptied before the socket goes: the next owner may write its own line the moment this one releases.
    try {
      writeFileSync(file, "");
    } catch {
      // The folder has been removed under us: no process can be misled by the line in it.
    }
    return close(server);
  };
}

function writeOwner(file: string): void {
  try {
    writeFileSync(file, `${process.pid} ${startTimeOf(process.pid)}\n`, { mode: 0o600 });
  } catch (error) {
    throw writeFailure(file, error);
  }
}

function locked(folder: string, pid: number | undefined): StoreOpenError {
  const who = pid === undefined ? "another process" : `process ${pid}`;
  return new StoreOpenError("Locked", `${folder} is in use by ${who}`, { pid });
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ path, exclusive: true }, () => resolve());
    server.unref();
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

/** The first process may hold the socket a moment before it has written its line. */
async function ownerOnceWritten(file: string): Promise<number | undefined> {
  for (let attempt = 0; attempt < 20; attempt++) {
    const owner = readOwner(file);
    if (owner !== undefined) return owner.pid;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return undefined;
}

function readOwner(file: string): { pid: number; startTime: string } | undefined {
  try {
    const match = /^(\d+) (\S+)\n/.exec(readFileSync(file, "utf8"));
    return match === null ? undefined : { pid: Number(match[1]), startTime: match[2] ?? "" };
  } catch {
    return undefined;
  }
}

/** Boot and tick at which the process started: a pid alone may have been given to another process. */
function startTimeOf(pid: number): string | undefined {
  try {
    const afterName = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    // Killed, and only waiting for its parent to notice.
    if (afterName[0] === "Z" || afterName[0] === "X") return undefined;
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${boot}:${afterName[19]}`;
  } catch {
    return undefined;
  }
}
