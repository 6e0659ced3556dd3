import { lstat, unlink } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { CsiError } from "../errors/csi-error.ts";
import { claimSocket } from "./claim.ts";

/** A socket that accepts connections. */
export interface Listener {
  /** Accepts no more connections and removes the socket file. Open connections stay open. */
  close(): Promise<void>;
  /** Ends all connections that are still open. */
  endConnections(): void;
}

/**
 * Listens on a unix socket that only this user can open; replaces one on which no process listens. Throws FAILED_PRECONDITION when
 * another process does, or the path cannot be used.
 */
export async function listen(path: string, onConnection: (socket: Socket) => void): Promise<Listener> {
  await claimSocket(path);
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    onConnection(socket);
  });
  await bind(server, path);
  const { ino } = await lstat(path);
  return {
    endConnections: () => {
      for (const socket of open) socket.destroy();
    },
    close: async () => {
      // Node removes the file by its name when a server closes. If another process has put its own socket there meanwhile,
      // that one must survive.
      const present = await lstat(path).catch(() => undefined);
      const foreign = present !== undefined && present.ino !== ino;
      if (foreign) server.unref();
      else await closeServer(server, path);
    },
  };
}

function bind(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => {
      const inUse = error.code === "EADDRINUSE";
      const reason = inUse ? "CSI_SOCKET_IN_USE" : "CSI_SOCKET_UNUSABLE";
      const hint = inUse
        ? "stop the process that listens there, or choose another endpoint"
        : "choose an endpoint in a folder that can be written to";
      const options = { reason, hint, cause: error };
      reject(CsiError.failedPrecondition(`cannot listen on ${path}: ${error.message}`, options));
    };
    server.once("error", fail);
    server.once("listening", () => {
      server.off("error", fail);
      resolve();
    });
    // A path is bound inside of `listen`, so the mode is right from the first moment (a chmod afterwards leaves a
    // step) and no other file of this process is made under this umask.
    const umask = process.umask(0o177);
    try {
      server.listen(path);
    } finally {
      process.umask(umask);
    }
  });
}

async function closeServer(server: Server, path: string): Promise<void> {
  // The callback waits for open connections, which are not ours to wait for: from here on no connection is accepted.
  server.close();
  await unlink(path).catch(() => {});
}
