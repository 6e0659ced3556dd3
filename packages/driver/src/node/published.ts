import type { NodeContext } from "./context.ts";
import type { NodeRecord } from "./records.ts";

/** Target paths of a record where something really is mounted; a record alone may be unfinished work or a reboot old. */
export async function mountedTargets(node: NodeContext, record: NodeRecord): Promise<string[]> {
  const targets: string[] = [];
  for (const path of Object.keys(record.published)) {
    if ((await node.host.mounts.at(path)).length > 0) targets.push(path);
  }
  return targets;
}
