import { lstat, mkdir, unlink } from "node:fs/promises";
import { connect } from "node:net";
import { dirname } from "node:path";
import { CsiError } from "../errors/csi-error.ts";

/** Errors that only a socket without a listener gives. With all others (a full backlog, ...) somebody is there. */
const NOBODY: ReadonlySet<string | undefined> = new Set(["ECONNREFUSED", "ENOENT"]);

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(!NOBODY.has(error.code)));
  });
}

/**
 * Makes the way free for listening on `path`: its folder exists, a socket that nobody answers on is removed. Throws
 * FAILED_PRECONDITION when another process answers there or the path is something else than a socket.
 */
export async function claimSocket(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  const present = await lstat(path).catch(() => undefined);
  if (present === undefined) return;
  if (!present.isSocket()) {
    throw CsiError.failedPrecondition(`${path} exists and is no socket`, {
      hint: "remove it, or choose another endpoint",
    });
  }
  if (await answers(path)) {
    throw CsiError.failedPrecondition(`another process answers on ${path}`, {
      reason: "CSI_SOCKET_IN_USE",
      hint: "stop it, or choose another endpoint",
    });
  }
  // Somebody else may have found it dead too, and listen there already: that socket is another file.
  const still = await lstat(path).catch(() => undefined);
  if (still?.ino === present.ino) await unlink(path);
}
