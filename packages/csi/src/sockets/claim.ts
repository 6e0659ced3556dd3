import { lstat, mkdir, stat, unlink } from "node:fs/promises";
import { connect } from "node:net";
import { dirname } from "node:path";
import { CsiError } from "../errors/csi-error.ts";

/** Errors that only a socket without a listener gives. With all others (a full backlog, ...) a process listens. */
const NO_LISTENER: ReadonlySet<string | undefined> = new Set(["ECONNREFUSED", "ENOENT"]);

function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(!NO_LISTENER.has(error.code)));
  });
}

/** Not with `recursive`: Node tries for ever where a file system has no folder and refuses to make one, as in /proc. */
async function makeFolders(folder: string): Promise<void> {
  const make = () => mkdir(folder, { mode: 0o755 });
  await make()
    .catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT" || dirname(folder) === folder) throw error;
      await makeFolders(dirname(folder));
      await make();
    })
    .catch(async (error: unknown) => {
      const present = await stat(folder).catch(() => undefined);
      if (present?.isDirectory() !== true) throw error;
    });
}

async function makeFolderOf(path: string): Promise<void> {
  const folder = dirname(path);
  await makeFolders(folder).catch((cause: Error) => {
    throw CsiError.failedPrecondition(`the socket's folder ${folder} cannot be made: ${cause.message}`, {
      reason: "CSI_SOCKET_UNUSABLE",
      hint: "choose an endpoint in a folder that can be written to",
      cause,
    });
  });
}

/**
 * Makes the way free for listening on `path`: its folder exists, a socket on which no process listens is removed. Throws
 * FAILED_PRECONDITION when another process listens there, the path is something else than a socket, or its folder cannot
 * be made.
 */
export async function claimSocket(path: string): Promise<void> {
  await makeFolderOf(path);
  const present = await lstat(path).catch(() => undefined);
  if (present === undefined) return;
  if (!present.isSocket()) {
    throw CsiError.failedPrecondition(`${path} exists and is no socket`, {
      hint: "remove it, or choose another endpoint",
    });
  }
  if (await isListening(path)) {
    throw CsiError.failedPrecondition(`another process listens on ${path}`, {
      reason: "CSI_SOCKET_IN_USE",
      hint: "stop it, or choose another endpoint",
    });
  }
  // Another process may have replaced the dead socket meanwhile, and listen there: by a new file, which may have the same inode number.
  const still = await lstat(path).catch(() => undefined);
  if (still?.ino === present.ino && still.mtimeMs === present.mtimeMs) await unlink(path);
}
