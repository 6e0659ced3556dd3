import { type CallContext, CsiError, type volumegroup } from "@mooring/csi";
import { MOORING_API_VERSION, type VolumeSet, VolumeSets } from "@mooring/engine";
import { defined, failpoint, isAlreadyExists } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import { volumeGroupIdOf } from "../names.ts";
import { CREATED_AT } from "../objects/find.ts";
import { findSet, removeRecord } from "../objects/volume-sets.ts";
import { comparedParameters } from "../request/parameters.ts";
import { changeMembers, MembersRefused } from "./change.ts";
import { refusalsOf } from "./eligible.ts";
import { type GroupRules, parseGroupParameters } from "./parameters.ts";
import { type Refusal, refused } from "./refusal.ts";
import { groupResponse } from "./response.ts";

const recorded = failpoint("driver/create-volume-group/set-recorded");

/** What a repeat is compared with. */
interface GroupRequest extends Record<string, unknown> {
  name: string;
  parameters: Record<string, string>;
  /** Sorted, each once. */
  volumeIds: string[];
}

/**
 * CreateVolumeGroup. The record has the name's id, so one name is one group on every attempt; until its first members
 * are in, it is of generation 0 and no call returns it.
 */
export async function createGroup(
  driver: DriverContext,
  call: volumegroup.CreateVolumeGroupRequest,
  { signal }: CallContext,
) {
  const { name, parameters } = call;
  const volumeIds = [...new Set(call.volumeIds)];
  const request: GroupRequest = { name, parameters, volumeIds: [...volumeIds].sort() };
  const present = await findSet(driver.store, volumeGroupIdOf(name), signal);
  if (present !== undefined && present.spec.generation > 0) {
    requireSame(present, request);
    return { volumeGroup: await groupResponse(driver, present, signal) };
  }
  const planned = plan(driver, request, await parseGroupParameters(driver, parameters, signal));
  const fail = async (refusals: readonly Refusal[]): Promise<never> => {
    await dissolve(driver, request, signal);
    throw refused(`volume group "${name}" is not made`, "create", refusals, call.volumeIds);
  };
  const refusals = await refusalsOf(driver, planned, volumeIds, signal);
  if (refusals.length > 0) return fail(refusals);
  const set = present ?? (await record(driver, planned, signal));
  if (set.spec.generation > 0) return { volumeGroup: await groupResponse(driver, set, signal) };
  try {
    const begun = { ...set, spec: { ...planned.spec, ...changeOf(set) } };
    const made = await changeMembers(driver, begun, volumeIds, signal);
    return { volumeGroup: await groupResponse(driver, made, signal) };
  } catch (error) {
    if (error instanceof MembersRefused) return fail(error.refusals);
    throw error;
  }
}

const changeOf = ({ spec: { change } }: VolumeSet) => defined({ change });

function plan(driver: DriverContext, request: GroupRequest, rules: GroupRules): VolumeSet {
  return {
    apiVersion: MOORING_API_VERSION,
    kind: "VolumeSet",
    metadata: {
      name: volumeGroupIdOf(request.name),
      annotations: { [CREATED_AT]: driver.host.clock.now().toISOString() },
    },
    spec: { members: [], generation: 0, ...rules, request },
  };
}

/** An empty group is made by this one write. */
async function record(driver: DriverContext, planned: VolumeSet, signal: AbortSignal): Promise<VolumeSet> {
  const { volumeIds } = planned.spec.request as GroupRequest;
  const spec = volumeIds.length === 0 ? { ...planned.spec, generation: 1 } : planned.spec;
  try {
    const created = await driver.store.create(VolumeSets, { ...planned, spec }, { signal });
    recorded();
    return created;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    throw CsiError.aborted(`volume group "${planned.metadata.name}" is being made by another call`);
  }
}

/** Nothing is left of an attempt that was refused, neither this one's record nor that of one that was killed. */
async function dissolve(driver: DriverContext, { name }: GroupRequest, signal: AbortSignal): Promise<void> {
  const set = await findSet(driver.store, volumeGroupIdOf(name), signal);
  // Another call that has taken it over has changed it.
  if (set?.spec.generation === 0) await removeRecord(driver, set, signal);
}

/**
 * The parameters and the volumes that the group was made with, whichever are in it by now: a repeat of the first call is
 * that call, whatever came after it.
 */
function requireSame({ metadata, spec }: VolumeSet, request: GroupRequest): void {
  if (spec.deleted === true)
    throw CsiError.aborted(`volume group "${metadata.name}" of this name is being deleted`);
  const stored = spec.request as GroupRequest | undefined;
  const hint = "Repeat the call with its first arguments, or use another name.";
  const text = (parameters: Record<string, string> = {}) => JSON.stringify(comparedParameters(parameters));
  if (stored?.name !== request.name || text(stored.parameters) !== text(request.parameters)) {
    throw CsiError.alreadyExists(`volume group "${request.name}" exists with other parameters`, { hint });
  }
  if ((stored.volumeIds ?? []).join(" ") !== request.volumeIds.join(" ")) {
    throw CsiError.alreadyExists(`volume group "${request.name}" was made with other volumes`, {
      hint: "Change the members of a group with ModifyVolumeGroupMembership.",
    });
  }
}
