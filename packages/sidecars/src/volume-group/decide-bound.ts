import { VOLUME_GROUP_BEING_CREATED } from "../common/volume-group-names.ts";
import type { VolumeGroup, VolumeGroupContent } from "../kube/volume-group.ts";
import { repairs } from "./drift.ts";
import { frozenFor } from "./freeze.ts";
import { type Growth, growthOf } from "./growth.ts";
import { type Membership, membershipOf } from "./membership.ts";
import { recordDrift, recordResult } from "./record.ts";
import { isBackingOff, report } from "./report.ts";
import { requestKeyOfSet } from "./request-key.ts";
import { requirementsOf, takesWhatIsThere } from "./selection.ts";
import { beginning, type Conditions, standing, truth } from "./status.ts";
import type { Decision } from "./step.ts";
import type { VolumeGroupView } from "./view.ts";

/**
 * The next step of a group that is wanted and has its content: make it, then bring its members to what its selector and
 * claims ask for.
 */
export function decideBound(
  view: VolumeGroupView,
  group: VolumeGroup,
  content: VolumeGroupContent,
): Decision {
  const { now, storage } = view;
  const membership = membershipOf(view, group, content);
  const growth = growthOf(view, group, membership);
  const reportNow = (mayFreeze = false) =>
    report(view, withGrowth(conditionsOf(view, group, content, membership), growth), membership.members, {
      mayFreeze,
      growth,
    });
  if (storage.result !== undefined) return recordResult(content, storage.result, membership, now);
  const handle = content.status?.volumeGroupHandle ?? content.spec.source?.volumeGroupHandle;
  const isOurs = content.spec.source === undefined;
  if (handle === undefined || (storage.gone && isOurs && repairs(content)))
    return decideCreation(view, content) ?? reportNow();
  const mustGet = view.canGetGroup && (!storage.certain || storage.due || storage.gone);
  if (mustGet && !isBackingOff(view, "get", handle)) return { do: "get-group", handle };
  const isKnown = content.status?.volumeHandles !== undefined && (storage.certain || !view.canGetGroup);
  if (!isKnown || storage.gone) return reportNow();
  const isFrozen = frozenFor(group, view.freezes).length > 0;
  const change = isFrozen ? undefined : decideMembers(view, handle, content, membership);
  if (change !== undefined) return change;
  // Growing changes no membership: a freeze does not keep it.
  if (growth?.grow !== undefined) return { do: "grow-claim", claim: growth.grow, size: growth.status.size };
  return reportNow(true);
}

/** The mark comes first: after a crash nothing would show whether the driver was asked. */
function decideCreation(view: VolumeGroupView, { metadata }: VolumeGroupContent): Decision | undefined {
  if (metadata.annotations?.[VOLUME_GROUP_BEING_CREATED] === undefined) return { do: "mark-being-created" };
  return isBackingOff(view, "create", "") ? undefined : { do: "create-group" };
}

function decideMembers(
  view: VolumeGroupView,
  handle: string,
  content: VolumeGroupContent,
  membership: Membership,
): Decision | undefined {
  const { actual, drift, leaving, target, unprotected } = membership;
  const { certain } = view.storage;
  // Protected before it is a member: a claim that is deleted in between can still be taken out.
  if (unprotected.length > 0) return { do: "protect-claims", claims: unprotected };
  const forgotten = recordDrift(content, drift);
  if (forgotten !== undefined) return forgotten;
  const isSame = target.length === actual.size && target.every((each) => actual.has(each));
  // It is unknown whether a call of an earlier life still keeps a volume that is to go: asking again shows it.
  const isUnclear = !certain && leaving.length > 0;
  if ((!isSame || isUnclear) && !isBackingOff(view, "modify", requestKeyOfSet(target)))
    return { do: "modify", handle, volumeHandles: target, added: target.filter((each) => !actual.has(each)) };
  const free = leaving.filter((each) => certain && !actual.has(each.handle));
  return free.length === 0 ? undefined : { do: "release-claims", claims: free.map(({ claim }) => claim) };
}

function withGrowth(conditions: Conditions, growth: Growth | undefined): Conditions {
  return growth === undefined ? conditions : { ...conditions, ...growth.conditions };
}

/** The report of the group's state, where there is nothing else to do now. */
function conditionsOf(
  view: VolumeGroupView,
  group: VolumeGroup,
  content: VolumeGroupContent,
  membership: Membership,
): Conditions {
  if (content.status?.volumeGroupHandle === undefined) return beginning(view.storage);
  const conditions = standing(view, group, content, membership);
  const requirements = requirementsOf(group);
  if (!takesWhatIsThere(group) && "error" in requirements)
    conditions.Degraded = truth(true, "SelectorInvalid", `spec.source.selector: ${requirements.error}`);
  return conditions;
}
