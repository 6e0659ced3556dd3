import { readdir, readFile, readlink } from "node:fs/promises";

const LISTEN = "0A";

/** By inode of its socket, the address on which a process listens on this port, as the kernel's tables write it. */
async function listenersOn(port: number): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const wanted = port.toString(16).toUpperCase().padStart(4, "0");
  for (const table of ["tcp", "tcp6"]) {
    const text = await readFile(`/proc/net/${table}`, "utf8").catch(() => "");
    for (const line of text.split("\n").slice(1)) {
      const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
      const [address = "", at] = local.split(":");
      if (state === LISTEN && at === wanted) found.set(inode, address);
    }
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
