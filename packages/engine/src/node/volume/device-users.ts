import { folderUsers } from "../../pools/folder-users.ts";
import type { AgentContext } from "../context.ts";
import type { OpenPool } from "../open-pools.ts";

/** Where a volume's device is mounted, for messages: `mounted at /mnt/x`. */
export async function deviceUsers(
  { host }: Pick<AgentContext, "host">,
  open: OpenPool,
  devicePath: string,
): Promise<string[]> {
  if (open.backend.block) return host.loops.users(devicePath);
  return folderUsers(await host.mounts.list(), devicePath);
}
