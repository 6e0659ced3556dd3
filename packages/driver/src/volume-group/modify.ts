import { type CallContext, CsiError, type volumegroup } from "@mooring/csi";
import type { DriverContext } from "../context.ts";
import { getGroup } from "../objects/volume-sets.ts";
import { changeMembers, hasMembers, MembersRefused } from "./change.ts";
import { refusalsOf } from "./eligible.ts";
import { expectedGeneration } from "./parameters.ts";
import { type Refusal, refused } from "./refusal.ts";
import { groupResponse } from "./response.ts";

/**
 * ModifyVolumeGroupMembership: `volume_ids`, as a set, are the members from now on, all of them or, after a refusal,
 * none. With `expected-generation` only while no other call has changed the group: else ABORTED. A group that is as it
 * is asked to be is returned as it is, whatever was expected: a repeat of a call whose response was lost is no change.
 */
export async function modifyGroup(
  driver: DriverContext,
  { volumeGroupId, volumeIds, parameters }: volumegroup.ModifyVolumeGroupMembershipRequest,
  { signal }: CallContext,
) {
  const set = await getGroup(driver.store, volumeGroupId, signal);
  const expected = expectedGeneration(set, parameters);
  const ids = [...new Set(volumeIds)];
  const fail = (refusals: readonly Refusal[]): CsiError =>
    refused(`volume group "${volumeGroupId}" is as it was`, "modify", refusals, volumeIds);
  const refusals = await refusalsOf(driver, set, ids, signal);
  if (refusals.length > 0) throw fail(refusals);
  if (await hasMembers(driver, set, ids, signal)) {
    return { volumeGroup: await groupResponse(driver, set, signal) };
  }
  const { generation } = set.spec;
  if (expected !== undefined && expected !== generation) {
    throw CsiError.aborted(
      `volume group "${volumeGroupId}" is of generation ${generation}, not ${expected}`,
      { hint: "Another call has changed it: read the group, decide again, and repeat the call." },
    );
  }
  try {
    const changed = await changeMembers(driver, set, ids, signal);
    return { volumeGroup: await groupResponse(driver, changed, signal) };
  } catch (error) {
    throw error instanceof MembersRefused ? fail(error.refusals) : error;
  }
}
