import { apiVersionOf, defined, isDeleting } from "@mooring/store";
import { RESTORE_LABEL, RESTORE_UID, type VolumeGroupRestore } from "../kube/group-restore.ts";
import { type VolumeGroup, type VolumeGroupClass, VolumeGroups } from "../kube/volume-group.ts";
import type { Obstacle } from "./obstacle.ts";

/** The VolumeGroup that a restore makes, as far as it is there. */
export interface GroupTarget {
  /** The cluster has VolumeGroups. */
  isServed: boolean;
  /** The driver can have groups whose members change. */
  canGroup: boolean;
  group: VolumeGroup | undefined;
  /** The class that the restore names. */
  groupClass: VolumeGroupClass | undefined;
}

/** Begins the key of a VolumeGroup among the objects that the API server has refused. */
export const REFUSED_GROUP = "volumegroup/";

const fail = (reason: string, message: string): Obstacle => ({ kind: "fail", reason, message });

/** Why there will be no such group; checked before anything is made. */
export function groupProblem(
  restore: VolumeGroupRestore,
  target: GroupTarget | undefined,
  driver: string,
): Obstacle | undefined {
  const wish = restore.spec.volumeGroup;
  if (wish === undefined) return undefined;
  if (target?.isServed !== true)
    return fail(
      "VolumeGroupsMissing",
      "spec.volumeGroup: VolumeGroups were not installed when this controller began: apply deploy/crds, and start it again",
    );
  if (!target.canGroup)
    return fail(
      "VolumeGroupsUnsupported",
      `spec.volumeGroup: driver ${driver} has no volume groups whose members can change`,
    );
  const taken = takenGroup(restore, target.group);
  if (taken !== undefined) return fail("VolumeGroupTaken", taken);
  const { volumeGroupClassName: className } = wish;
  if (className === undefined) return undefined;
  if (target.groupClass === undefined)
    return fail("VolumeGroupClassMissing", `VolumeGroupClass ${className} does not exist`);
  return target.groupClass.driver === driver
    ? undefined
    : fail(
        "VolumeGroupClassMismatch",
        `VolumeGroupClass ${className} is for ${target.groupClass.driver}, the snapshot is of ${driver}`,
      );
}

function takenGroup(restore: VolumeGroupRestore, group: VolumeGroup | undefined): string | undefined {
  if (group === undefined || isOurs(group, restore)) return undefined;
  return `VolumeGroup ${group.metadata.name} exists and is not of this restore: delete it, or name another one in spec.volumeGroup.name`;
}

/** Whether this very restore has made it. */
function isOurs({ metadata }: VolumeGroup, restore: VolumeGroupRestore): boolean {
  return metadata.annotations?.[RESTORE_UID] === restore.metadata.uid;
}

/** The group of all claims of a restore. Like them it has no owner, and outlives the restore. */
export function groupFor(
  { metadata, spec }: VolumeGroupRestore,
  { name, volumeGroupClassName }: NonNullable<VolumeGroupRestore["spec"]["volumeGroup"]>,
  claimNames: string[],
): VolumeGroup {
  const { namespace, uid = "" } = metadata;
  return {
    apiVersion: apiVersionOf(VolumeGroups),
    kind: "VolumeGroup",
    metadata: {
      name,
      ...defined({ namespace }),
      labels: { ...spec.defaults?.labels, [RESTORE_LABEL]: metadata.name },
      annotations: { [RESTORE_UID]: uid },
    },
    spec: { ...defined({ volumeGroupClassName }), source: { claimNames } },
  };
}

/** How far the group is: `make`: it is to be made; else how many claims are in it, and what is in the way of the rest. */
export function assessGroup(
  restore: VolumeGroupRestore,
  target: GroupTarget | undefined,
  { claimNames, refusal }: { claimNames: readonly string[]; refusal: string | undefined },
): { make: true } | { joined: number; trouble?: string; waits?: string } {
  const { group } = target ?? {};
  if (group === undefined) return refusal === undefined ? { make: true } : { joined: 0, trouble: refusal };
  const { name } = group.metadata;
  const taken = takenGroup(restore, group);
  if (taken !== undefined) return { joined: 0, trouble: taken };
  if (isDeleting(group)) return { joined: 0, waits: `VolumeGroup ${name} is being deleted` };
  const members = new Map(group.status?.members?.map((member) => [member.claimName, member]));
  const joined = claimNames.filter((claim) => members.get(claim)?.state === "Joined").length;
  if (joined === claimNames.length) return { joined };
  const out = claimNames.flatMap((claim) => {
    const member = members.get(claim);
    return member?.state === "LeftOut" ? [`claim ${claim} is left out: ${member.message}`] : [];
  });
  const degraded = group.status?.conditions?.find(({ type }) => type === "Degraded");
  const why = out.length > 0 ? out : degraded?.status === "True" ? [degraded.message ?? ""] : [];
  return {
    joined,
    waits: [`${joined} of ${claimNames.length} claims are in VolumeGroup ${name}`, ...why].join("; "),
  };
}
