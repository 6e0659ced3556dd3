import { keyOf } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { rfc3339 } from "../common/time.ts";
import { partNameOf } from "./parts.ts";
import type { GroupCloneView } from "./view.ts";

/**
 * An object that is missing in a cache may be on its way: the controller asks the server before it reports that the clone
 * has failed.
 */
export async function read(
  key: string,
  { cluster, driver, now }: SidecarContext,
  fresh: boolean,
): Promise<GroupCloneView> {
  const base = { driver: driver.info.name, now: rfc3339(now()) };
  const clone = fresh ? await cluster.groupClones.refresh(key) : cluster.groupClones.get(key);
  if (clone === undefined)
    return { ...base, clone, source: undefined, snapshot: undefined, restore: undefined };
  const of = (name: string) => keyOf({ metadata: { ...clone.metadata, name } });
  const part = of(partNameOf(clone));
  const group = of(clone.spec.source.volumeGroupName);
  return {
    ...base,
    clone,
    source: fresh ? await cluster.volumeGroups.refresh(group) : cluster.volumeGroups.get(group),
    snapshot: (fresh ? undefined : cluster.groups.get(part)) ?? (await cluster.groups.refresh(part)),
    restore:
      (fresh ? undefined : cluster.groupRestores.get(part)) ?? (await cluster.groupRestores.refresh(part)),
  };
}
