import type { Condition } from "@mooring/store";
import type { GroupMember } from "../kube/volume-group.ts";
import type { GroupStatus } from "./status.ts";

/** An event that a change of the status brings with it. */
export interface News {
  /** A claim by name; absent: the group itself. */
  claimName?: string;
  type: "Normal" | "Warning";
  reason: string;
  message: string;
}

const OF_MEMBER: Partial<Record<GroupMember["state"], { type: News["type"]; reason: string }>> = {
  Joined: { type: "Normal", reason: "JoinedVolumeGroup" },
  LeftOut: { type: "Warning", reason: "LeftOutOfVolumeGroup" },
  Lost: { type: "Warning", reason: "VolumeMissing" },
  Drifted: { type: "Warning", reason: "TakenOutOfVolumeGroup" },
};

/** What a new status has that the last one did not: each change is reported once, on the object that it is about. */
export function newsOf(groupName: string, before: GroupStatus | undefined, after: GroupStatus): News[] {
  return [
    ...ofGroup(before, after),
    ...ofFreezes(before, after),
    ...ofMembers(groupName, before, after),
    ...ofLeavers(before, after),
  ];
}

/** A freeze of which the group snapshot has not made use in time. */
function ofFreezes(before: GroupStatus | undefined, after: GroupStatus): News[] {
  const known = new Set(before?.frozenFor?.flatMap(({ expired, uid }) => (expired ? [uid] : [])));
  return (after.frozenFor ?? [])
    .filter(({ expired, uid }) => expired === true && !known.has(uid))
    .map(({ name, since }) => ({
      ...{ type: "Warning", reason: "FreezeExpired" },
      message: `the membership was frozen for VolumeGroupSnapshot ${name} since ${since}, and its snapshot is not made: the group goes on. Is the controller group-snapshot running?`,
    }));
}

function ofGroup(before: GroupStatus | undefined, after: GroupStatus): News[] {
  const of = (status: GroupStatus | undefined, type: string) =>
    status?.conditions?.find((condition) => condition.type === type);
  const news: News[] = [];
  const [bound, degraded] = [of(after, "Bound"), of(after, "Degraded")];
  if (bound?.status === "True" && of(before, "Bound")?.status !== "True")
    news.push({ type: "Normal", reason: "GroupBound", message: bound.message });
  news.push(...ofGrowth(of(before, "Expanded"), of(after, "Expanded")));
  const was = of(before, "Degraded");
  if (degraded === undefined) return news;
  const { message, reason } = degraded;
  if (degraded.status === "True" && (was?.status !== "True" || was.reason !== reason))
    news.push({ type: "Warning", reason, message });
  if (degraded.status === "False" && was?.status === "True")
    news.push({ type: "Normal", reason: "Recovered", message });
  return news;
}

function ofMembers(groupName: string, before: GroupStatus | undefined, after: GroupStatus): News[] {
  const known = new Map(before?.members?.map((member) => [member.claimName, member]));
  return (after.members ?? []).flatMap(({ claimName, message, reason, state }) => {
    const was = known.get(claimName);
    const reported = OF_MEMBER[state];
    if (reported === undefined || (was?.state === state && was.reason === reason)) return [];
    return [{ claimName, ...reported, message: `VolumeGroup ${groupName}: ${message}` }];
  });
}

function ofLeavers(before: GroupStatus | undefined, after: GroupStatus): News[] {
  const now = new Map(after.members?.map(({ claimName, state }) => [claimName, state]));
  return (before?.members ?? []).flatMap(({ claimName, state }) => {
    const next = now.get(claimName);
    const left = state === "Joined" && (next === undefined || next === "LeftOut" || next === "Waiting");
    return left
      ? [{ type: "Normal", reason: "MemberLeft", message: `claim ${claimName} is no longer in the group` }]
      : [];
  });
}

/** That all have grown, and that one may not. */
function ofGrowth(before: Condition | undefined, after: Condition | undefined): News[] {
  if (after === undefined || (before?.status === after.status && before.reason === after.reason)) return [];
  const { message = "", reason, status } = after;
  if (status === "True") return [{ type: "Normal", reason: "MembersExpanded", message }];
  return reason === "GrowthRefused" ? [{ type: "Warning", reason, message }] : [];
}
