import type { RbdCommands } from "./commands.ts";
import { listOf, objectOf, parse } from "./rbd-info.ts";

/** Ceph's own default is an hour: a machine may be away for longer, and come back with a write under way. In seconds. */
const FOR_GOOD = "157680000";

/**
 * Addresses of the clients that have an image open, or its lock. A client is one process: another one on the same machine has
 * another address.
 */
export async function readClients(commands: RbdCommands, image: string): Promise<string[]> {
  const status = await commands.rbd(["status", "--format", "json", image]);
  const locks = await commands.rbd(["lock", "ls", "--format", "json", image]);
  const clients = [
    ...listOf(objectOf(parse(status.stdout))["watchers"] ?? []),
    ...listOf(parse(locks.stdout)),
  ];
  return [...new Set(clients.map((client) => String(objectOf(client)["address"])))];
}

/** The cluster takes no write of this client any more, of whatever image, and lets others have its locks. */
export async function shutOut(commands: RbdCommands, address: string): Promise<void> {
  await commands.ceph(["osd", "blocklist", "add", address, FOR_GOOD]);
}
