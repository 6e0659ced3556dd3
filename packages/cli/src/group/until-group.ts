import { type VolumeGroup, VolumeGroups } from "@mooring/sidecars";
import type { ObjectStore } from "@mooring/store";
import { type Wait, type Waiting, waitForObject } from "./wait.ts";

const conditionOf = (group: VolumeGroup | undefined, type: string) =>
  group?.status?.conditions?.find((condition) => condition.type === type);

/** What keeps a group from being as it should be. */
function lacks(group: VolumeGroup | undefined): string | undefined {
  if (conditionOf(group, "Ready")?.status !== "True")
    return conditionOf(group, "Ready")?.message ?? "no controller has taken it up";
  if (conditionOf(group, "MembersSynced")?.status !== "True")
    return conditionOf(group, "MembersSynced")?.message;
  return undefined;
}

const isSeen = (group: VolumeGroup): boolean =>
  (group.status?.observedGeneration ?? 0) >= (group.metadata.generation ?? 0);

/** Until what is asked about the group is true. */
function untilGroup(
  store: ObjectStore,
  waiting: Waiting,
  what: Omit<Wait<VolumeGroup>, "alias">,
): Promise<VolumeGroup | undefined> {
  return waitForObject(store, VolumeGroups, waiting, { ...what, alias: "vg" });
}

/** Until the group is there, and just those are in it that should be. `accept`: what else must be true, or a text why it never will. */
export function untilSynced(
  store: ObjectStore,
  wanted: Waiting,
  accept: (group: VolumeGroup) => boolean | string = () => true,
) {
  return untilGroup(store, wanted, {
    done: (group) => {
      if (group === undefined) return "it was deleted";
      if (!isSeen(group) || lacks(group) !== undefined) return false;
      return accept(group);
    },
    last: (group) => lacks(group) ?? "it has not settled yet",
    progress: (group) => (group?.status === undefined ? undefined : lacks(group)),
  });
}

/** Whether these claims are in the group; a text for those that are left out of it. */
export function areIn(claims: readonly string[]): (group: VolumeGroup) => boolean | string {
  return ({ status }) => {
    const members = new Map(status?.members?.map((member) => [member.claimName, member]));
    const out = claims.flatMap((name) => {
      const member = members.get(name);
      return member?.state === "LeftOut" ? [`claim ${name} is left out: ${member.message}`] : [];
    });
    if (out.length > 0) return out.join("; ");
    return claims.every((name) => members.get(name)?.state === "Joined");
  };
}

/** Whether these claims are out of the group; a text for those that it still asks for. */
export function areOut(claims: readonly string[]): (group: VolumeGroup) => boolean | string {
  return ({ status }) => {
    const still = (status?.members ?? []).filter(
      ({ claimName, state }) => claims.includes(claimName) && state !== "LeftOut" && state !== "Waiting",
    );
    const kept = still.filter(({ state }) => state === "Joined");
    if (kept.length === 0) return still.length === 0;
    const names = kept.map(({ claimName }) => claimName).join(", ");
    return `its selector still selects ${names}: take the label away from the claim, or change spec.source.selector`;
  };
}

/** Until the group is gone. Its claims stay, unless its class deletes them. */
export function untilGroupGone(store: ObjectStore, wanted: Waiting) {
  return untilGroup(store, wanted, {
    done: (group) => group === undefined,
    last: (group) => conditionOf(group, "Ready")?.message ?? "it is still there",
    progress: (group) => conditionOf(group, "Ready")?.message,
  });
}

/** Until every member has the size, or its volume has and a Pod will do the rest; a refusal ends it at once. */
export function untilExpanded(store: ObjectStore, wanted: Waiting) {
  return untilGroup(store, wanted, {
    done: (group) => {
      if (group === undefined) return "it was deleted";
      const { message, reason, status } = conditionOf(group, "Expanded") ?? {};
      if (!isSeen(group) || status === undefined) return false;
      if (reason === "GrowthRefused") return message ?? "a member may not grow";
      return status === "True" || reason === "NodePending";
    },
    last: (group) =>
      conditionOf(group, "Expanded")?.message ?? lacks(group) ?? "no controller has taken it up",
    progress: (group) => conditionOf(group, "Expanded")?.message,
  });
}
