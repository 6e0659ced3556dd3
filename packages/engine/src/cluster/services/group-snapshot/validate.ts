import { MAX_GROUP_MEMBERS } from "../../../api/group-snapshot.ts";
import { EngineError } from "../../../errors.ts";
import type { CoordinatorView } from "./view.ts";

/** What is wrong with the wish; undefined when nothing is. UNAVAILABLE passes by itself, all else is for good. */
export function validate({
  group,
  volumes,
  poolNodes,
  sharedPools,
}: CoordinatorView): EngineError | undefined {
  const { members } = group.spec;
  const count = members.length;
  if (count === 0 || count > MAX_GROUP_MEMBERS) {
    return new EngineError("INVALID_ARGUMENT", `a group has 1 to ${MAX_GROUP_MEMBERS} members, not ${count}`);
  }
  for (const names of [members.map(({ volume }) => volume), members.map(({ snapshot }) => snapshot)]) {
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) return new EngineError("INVALID_ARGUMENT", `${twice} is in the group twice`);
  }
  for (const { volume: name, pool } of members) {
    const volume = volumes.get(name);
    if (volume === undefined || volume.metadata.deletionTimestamp !== undefined) {
      return new EngineError("NOT_FOUND", `volume ${name} does not exist`);
    }
    if (volume.spec.pool !== pool) {
      return new EngineError(
        "INVALID_ARGUMENT",
        `volume ${name} is in pool ${volume.spec.pool}, not in ${pool}`,
      );
    }
    if (!poolNodes.has(pool) && !sharedPools.has(pool))
      return new EngineError("NOT_FOUND", `pool ${pool} of volume ${name} does not exist`);
    if (volume.status?.size === undefined)
      return new EngineError("UNAVAILABLE", `volume ${name} is not ready yet`);
  }
  return undefined;
}
