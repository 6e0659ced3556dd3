import { ENOENT, type RbdCommands } from "./commands.ts";
import { listOf, objectOf, parse } from "./json.ts";

/** Ceph's own default is an hour: a machine may be away for longer, and come back with a write under way. In seconds. */
const FOR_GOOD = "157680000";

/** The lock that a client takes when it first writes into an image. */
interface Lock {
  id: string;
  locker: string;
}

/** Who has an image open, and its locks. */
export interface ImageClients {
  /**
   * Addresses of those that have it open, or a lock of it. A client is one process: another one on the same machine has
   * another address.
   */
  addresses: string[];
  locks: Lock[];
}

/** Addresses of those that have an image open. None when there is no such image. */
export async function readWatchers(commands: RbdCommands, image: string): Promise<string[]> {
  const { exitCode, stdout } = await commands.rbd(["status", "--format", "json", image], { allow: [ENOENT] });
  if (exitCode !== 0) return [];
  const watchers = listOf(objectOf(parse(stdout))["watchers"] ?? []).map(objectOf);
  return watchers.map(({ address }) => String(address));
}

/** What the cluster knows of who uses an image. */
export async function readClients(commands: RbdCommands, image: string): Promise<ImageClients> {
  const watchers = await readWatchers(commands, image);
  const ls = await commands.rbd(["lock", "ls", "--format", "json", image]);
  const locks = listOf(parse(ls.stdout)).map(objectOf);
  return {
    addresses: [...new Set([...watchers, ...locks.map(({ address }) => String(address))])],
    locks: locks.map(({ id, locker }) => ({ id: String(id), locker: String(locker) })),
  };
}

/**
 * The cluster takes no write of these clients any more, of whatever image. Their locks are broken after that: the next client would
 * ask each of them first, and wait for a response.
 */
export async function shutOut(
  commands: RbdCommands,
  image: string,
  { addresses, locks }: ImageClients,
): Promise<void> {
  for (const address of addresses) await commands.ceph(["osd", "blocklist", "add", address, FOR_GOOD]);
  for (const { id, locker } of locks)
    await commands.rbd(["lock", "rm", image, id, locker], { allow: [ENOENT] });
}
