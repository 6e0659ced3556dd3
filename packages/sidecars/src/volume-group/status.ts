import type { Condition } from "@mooring/store";
import { defined } from "@mooring/store";
import type { FrozenFor, GroupMember, VolumeGroup, VolumeGroupContent } from "../kube/volume-group.ts";
import { driftMessage, isNone } from "./drift.ts";
import { freezeMessage, frozenFor } from "./freeze.ts";
import type { Membership } from "./membership.ts";
import { requestKeyOfSet } from "./request-key.ts";
import type { CallTrouble, StorageView, VolumeGroupView } from "./view.ts";

/** The status of a VolumeGroup. */
export type GroupStatus = NonNullable<VolumeGroup["status"]>;

/** What a condition reports. */
export interface Truth {
  is: boolean;
  reason: string;
  message: string;
}

/** A condition, true or not, with its reason. */
export const truth = (is: boolean, reason: string, message: string): Truth => ({ is, reason, message });

/** `Expanded` and `VolumesExpanded` only where the group asks for a size. */
export type Conditions = Record<"Bound" | "Ready" | "MembersSynced" | "Degraded", Truth> & {
  Expanded?: Truth;
  VolumesExpanded?: Truth;
};

/** Claims that are not members and are listed all the same; an object must not grow without end. */
const MOST_OTHERS = 200;

/** Nothing can be done for the group before a user or an administrator does something. */
export function obstacle(reason: string, message: string): Conditions {
  return {
    Bound: truth(false, reason, message),
    Ready: truth(false, reason, message),
    MembersSynced: truth(false, reason, message),
    Degraded: truth(true, reason, message),
  };
}

/** The group is not on the storage system yet. */
export function beginning({ failures }: StorageView): Conditions {
  const failure = failures.get("create") ?? failures.get("get");
  if (failure !== undefined) return obstacle("CallFailed", failure.message);
  const message = "the group is being made";
  return { ...obstacle("Creating", message), Degraded: truth(false, "Creating", message) };
}

/** The conditions of a group that is bound to its content. */
export function standing(
  view: VolumeGroupView,
  group: VolumeGroup,
  content: VolumeGroupContent,
  membership: Membership,
): Conditions {
  const { canGetGroup, storage } = view;
  const { members } = membership;
  const bound = truth(true, "Bound", `bound to VolumeGroupContent ${content.metadata.name}`);
  const failure = troubleOf(view, membership);
  const pending = members.filter(({ state }) => ["Joining", "Leaving", "Drifted"].includes(state));
  const frozen = frozenFor(group, view.freezes);
  const names = pending.map(({ claimName }) => claimName).join(", ");
  const synced =
    pending.length === 0 && (storage.certain || !canGetGroup)
      ? truth(true, "Synced", `${membership.actual.size} volumes are in the group`)
      : truth(
          false,
          frozen.length > 0 ? "Frozen" : failure === undefined ? pendingReason(pending) : "CallFailed",
          frozen.length > 0
            ? `${freezeMessage(frozen)}; not settled: ${names}`
            : (failure?.message ?? `not settled: ${names}`),
        );
  if (storage.gone) {
    const missing = obstacle("GroupMissing", "the group does not exist on the storage system any more");
    return { ...missing, Bound: bound };
  }
  return {
    Bound: bound,
    Ready: truth(true, "Ready", "the group is there"),
    MembersSynced: synced,
    Degraded: degraded(membership, failure?.message),
  };
}

/**
 * `MembershipDrift` where all that is pending is drift, which the group's policy only reports: nothing is being changed
 * then.
 */
function pendingReason(pending: readonly GroupMember[]): string {
  const isDrift = pending.length > 0 && pending.every(({ state }) => state === "Drifted");
  return isDrift ? "MembershipDrift" : "Changing";
}

/** The call that failed and is still wanted: that of a set which is not asked for any more is past. */
function troubleOf(
  { storage: { certain, failures } }: VolumeGroupView,
  { actual, leaving, target }: Membership,
): CallTrouble | undefined {
  const asked = requestKeyOfSet(target);
  const isWanted = asked !== requestKeyOfSet(actual) || (!certain && leaving.length > 0);
  return [...failures].find(([call, { requestKey }]) =>
    call === "modify" ? isWanted && requestKey === asked : true,
  )?.[1];
}

function degraded({ drift, members }: Membership, failure: string | undefined): Truth {
  const named = (...states: GroupMember["state"][]) =>
    members.filter(({ state }) => states.includes(state)).map((each) => each.claimName);
  if (failure !== undefined) return truth(true, "CallFailed", failure);
  if (!isNone(drift)) return truth(true, "MembershipDrift", driftMessage(drift));
  const lost = named("Lost");
  if (lost.length > 0)
    return truth(true, "VolumesMissing", `claims without their volume: ${lost.join(", ")}`);
  const out = named("LeftOut");
  if (out.length === 0) return truth(false, "AsAsked", "nothing is wrong");
  const names = out.slice(0, 10).join(", ");
  return truth(
    true,
    "ClaimsLeftOut",
    `${out.length === 1 ? "1 claim is" : `${out.length} claims are`} left out: ${names}${out.length > 10 ? ", ..." : ""}`,
  );
}

/** The group ends. */
export function ending(message: string, failure: string | undefined): Conditions {
  return {
    Bound: truth(false, "Deleting", message),
    Ready: truth(false, "Deleting", message),
    MembersSynced: truth(false, "Deleting", message),
    Degraded: failure === undefined ? truth(false, "Deleting", message) : truth(true, "CallFailed", failure),
  };
}

/** The whole status, from what is true of the group and from its members. */
export function statusOf(
  { content, group, now }: VolumeGroupView,
  conditions: Conditions,
  members: readonly GroupMember[],
  { frozen, growth }: { frozen: readonly FrozenFor[]; growth: GroupStatus["growth"] | undefined },
): GroupStatus {
  const { generation } = group?.metadata ?? {};
  const isOther = ({ state }: GroupMember) => state === "LeftOut" || state === "Waiting";
  let others = 0;
  const listed = members.filter((each) => !isOther(each) || ++others <= MOST_OTHERS);
  const created = content?.status?.creationTime ?? group?.status?.creationTime;
  const bound = conditions.Bound.is ? content?.metadata.name : group?.status?.boundVolumeGroupContentName;
  return {
    ...defined({ boundVolumeGroupContentName: bound, creationTime: created }),
    ready: conditions.Ready.is,
    memberCount: content?.status?.volumeHandles?.length ?? 0,
    ...defined({ observedGeneration: generation }),
    members: listed,
    ...(others > MOST_OTHERS ? { omitted: others - MOST_OTHERS } : {}),
    ...(frozen.length > 0 ? { frozenFor: [...frozen] } : {}),
    ...defined({ growth }),
    conditions: Object.entries(conditions).map(([type, { is, message, reason }]): Condition => {
      const status = is ? "True" : "False";
      const before = group?.status?.conditions?.find((condition) => condition.type === type);
      const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now;
      return { type, status, reason, message, lastTransitionTime };
    }),
  };
}
