import { readdir } from "node:fs/promises";
import { cgroupName } from "./cgroups.ts";
import { recordsFolder } from "./container-files.ts";
import { containersUnder, hiddenOf, runFolders } from "./run-folder.ts";

/**
 * What a Mooring at another path has hidden from the containers that this state folder has on record: the state folder as it was
 * called when they were started. Somebody has moved it, or copied it, while they ran. Undefined when there are none.
 */
export async function startedElsewhere(stateDir: string): Promise<readonly string[] | undefined> {
  const recorded = new Set(await readdir(recordsFolder(stateDir)).catch(() => []));
  if (recorded.size === 0) return undefined;
  const own = cgroupName(stateDir);
  for (const name of await runFolders()) {
    if (name === own) continue;
    const containers = await containersUnder(name);
    if (containers.some((id) => recorded.has(id))) return hiddenOf(name);
  }
  return undefined;
}
