import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";

const INTERFACES = "/sys/class/net";
/** Nothing is sent there: port 9 discards. */
const DISCARD = 9;

/** This machine in its networks, as its kernel has it now. */
export interface Place {
  /** IPv4 addresses by which others may reach it, in the order of its interfaces. */
  addresses: readonly string[];
  /** Those of its WireGuard interfaces: what comes and goes there is encrypted, and each peer has its addresses only. */
  encrypted: readonly string[];
}

/** `folder`: where the kernel has a folder for each interface of this network namespace. */
export async function findPlace(interfaces = networkInterfaces(), folder = INTERFACES): Promise<Place> {
  const addresses: string[] = [];
  const encrypted: string[] = [];
  for (const [name, entries = []] of Object.entries(interfaces)) {
    const own = entries.filter(({ internal, family }) => !internal && family === "IPv4");
    if (own.length === 0) continue;
    addresses.push(...own.map(({ address }) => address));
    if (await isWireGuard(join(folder, name))) encrypted.push(...own.map(({ address }) => address));
  }
  return { addresses, encrypted };
}

/** Whatever the interface is called: the kernel says of which type it is. */
async function isWireGuard(folder: string): Promise<boolean> {
  const text = await readFile(join(folder, "uevent"), "utf8").catch(() => "");
  return /^DEVTYPE=wireguard$/m.test(text);
}

/** The address from which the kernel would send to that one, by all of its routes and rules; undefined: it has no way there. */
export async function sourceTowards(address: string): Promise<string | undefined> {
  const socket = createSocket("udp4");
  try {
    socket.connect(DISCARD, address);
    await once(socket, "connect");
    return socket.address().address;
  } catch {
    return undefined;
  } finally {
    socket.close();
  }
}
