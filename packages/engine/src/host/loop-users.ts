import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { basename } from "node:path";
import type { Clock, Mounts } from "./host.ts";

const ELSEWHERE = "mounted in another mount namespace, or claimed exclusively";
const ELSEWHERE_MS = 1000;

/** What keeps a bound device from being detached; empty when nothing does. */
export async function usersOf(device: string, mounts: Mounts): Promise<string[]> {
  const entries = await mounts.list();
  const node = `/${basename(device)}`;
  const mounted = entries
    .filter((e) => e.source === device || (e.fsType === "devtmpfs" && e.root === node))
    .map((e) => `mounted at ${e.target}`);
  if (mounted.length > 0) return mounted;
  return (await claimedElsewhere(device)) ? [ELSEWHERE] : [];
}

/** Containers that are just starting have copies of all mounts, until they have left the old root. */
export async function usersThatStay(read: () => Promise<string[]>, clock: Clock): Promise<string[]> {
  const deadline = clock.sinceBoot() + ELSEWHERE_MS;
  for (;;) {
    const users = await read();
    if (users[0] !== ELSEWHERE || clock.sinceBoot() > deadline) return users;
    await clock.sleep(50);
  }
}

/** A mounted file system owns its device exclusively, in whichever namespace it was mounted. */
async function claimedElsewhere(device: string): Promise<boolean> {
  try {
    const handle = await open(device, constants.O_RDONLY | constants.O_EXCL);
    await handle.close();
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EBUSY";
  }
}
