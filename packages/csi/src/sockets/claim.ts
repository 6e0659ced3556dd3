import { lstat, mkdir, unlink } from "node:fs/promises";
import { connect } from "node:net";
import { dirname } from "node:path";
import { CsiError } from "../errors/csi-error.ts";

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
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
  await unlink(path);
}
