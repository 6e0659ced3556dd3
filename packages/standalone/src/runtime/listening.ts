import { createReadStream } from "node:fs";
import { readdir, readlink } from "node:fs/promises";

/** State of a socket that listens. */
const LISTEN = "0A";
const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];

/**
 * By inode of its socket, the address on which a process listens on this port, as the kernel's tables write it. Read in pieces: a
 * program may have so many sockets that the whole is hundreds of megabytes.
 */
export async function listenersOn(port: number, tables = TABLES): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const take = (line: string) => {
    // Most lines are of others.
    if (!line.includes(wanted)) return;
    const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
    const [address = ""] = local.split(":");
    if (state === LISTEN && local.endsWith(wanted)) found.set(inode, address);
  };
  for (const table of tables) {
    let rest = "";
    const read = createReadStream(table, "latin1");
    try {
      for await (const piece of read) {
        const lines = (rest + piece).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) take(line);
      }
    } catch {
      // A kernel without this family has no such table.
    }
    take(rest);
  }
  return found;
}

/** The address by which one of these processes is reached on a port; undefined when none of them listens on it. */
export async function addressOfListener(pids: readonly number[], port: number): Promise<string | undefined> {
  const listeners = await listenersOn(port);
  if (listeners.size === 0) return undefined;
  for (const pid of pids) {
    const folder = `/proc/${pid}/fd`;
    for (const name of await readdir(folder).catch(() => [])) {
      const link = await readlink(`${folder}/${name}`).catch(() => "");
      const address = listeners.get(/^socket:\[(\d+)\]$/.exec(link)?.[1] ?? "");
      if (address !== undefined) return reachable(address);
    }
  }
  return undefined;
}

/** Integers of four bytes in the machine's own order; who listens on any address is reached by the loopback's. */
function reachable(hex: string): string {
  const words = hex.match(/.{8}/g) ?? [];
  const bytes = words.flatMap((word) =>
    [6, 4, 2, 0].map((at) => Number.parseInt(word.slice(at, at + 2), 16)),
  );
  const isAny = bytes.every((byte) => byte === 0);
  if (bytes.length === 4) return isAny ? "127.0.0.1" : bytes.join(".");
  if (isAny) return "::1";
  const groups = Array.from({ length: 8 }, (_, index) =>
    (((bytes[index * 2] ?? 0) << 8) | (bytes[index * 2 + 1] ?? 0)).toString(16),
  );
  return groups.join(":");
}
