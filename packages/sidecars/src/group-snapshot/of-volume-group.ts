import { isDeleting, keyOf, type VolumeGroupSnapshot } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { groupOfSnapshot } from "../common/group-of.ts";
import { SNAPSHOT_OF_GROUP } from "../common/volume-group-names.ts";
import type { GroupMember } from "../kube/volume-group.ts";
import { attemptOf, grantOf, isGranted } from "../volume-group/freeze.ts";
import { selectorOf } from "./sources.ts";
import { type NamedGroup, type ReportStep, report } from "./view.ts";

/** Undefined: the group snapshot names none. */
export async function readNamedGroup(
  { cluster, hasVolumeGroupKinds: isServed }: SidecarContext,
  snapshot: VolumeGroupSnapshot,
  fresh: boolean,
): Promise<NamedGroup | undefined> {
  const name = groupOfSnapshot(snapshot);
  if (name === undefined) return undefined;
  if (!isServed) return { name, isServed, group: undefined };
  const key = keyOf({ metadata: { ...snapshot.metadata, name } });
  const known = fresh ? undefined : cluster.volumeGroups.get(key);
  return { name, isServed, group: known ?? (await cluster.volumeGroups.refresh(key)) };
}

/** What a claim in one of these states has is in the group on the storage system. */
const INSIDE: readonly GroupMember["state"][] = ["Joined", "Leaving", "Lost"];

/** The claims whose volumes are in the group. */
export function claimsInside({ group }: NamedGroup): string[] {
  const members = group?.status?.members ?? [];
  return members.filter(({ state }) => INSIDE.includes(state)).map(({ claimName }) => claimName);
}

/** What speaks against a group snapshot of this VolumeGroup, before its members are read. */
export function namedGroupProblem(
  { group, isServed, name }: NamedGroup,
  snapshot: VolumeGroupSnapshot,
): ReportStep | undefined {
  const problem = (message: string) => report("VolumeGroupNotUsable", message);
  if ("requirements" in selectorOf(snapshot))
    return report(
      "GroupSnapshotValidationError",
      `annotation ${SNAPSHOT_OF_GROUP} means that the members are those of VolumeGroup ${name}: leave spec.source.selector empty ({}), or take the annotation away`,
    );
  if (!isServed)
    return problem(
      "VolumeGroups were not installed when this controller began: apply deploy/crds, and start it again",
    );
  if (group === undefined) return problem(`VolumeGroup ${name} does not exist`);
  if (isDeleting(group)) return problem(`VolumeGroup ${name} is being deleted`);
  const ready = group.status?.conditions?.find(({ type }) => type === "Ready");
  if (ready?.status !== "True")
    return problem(`VolumeGroup ${name} is not ready: ${ready?.message ?? "no controller has taken it up"}`);
  if (claimsInside({ group, isServed, name }).length === 0)
    return problem(`VolumeGroup ${name} has no members yet`);
  return undefined;
}

/** Whether the group's controller has granted that no member joins or leaves until this snapshot is made. */
export function isFrozenFor({ group }: NamedGroup, snapshot: VolumeGroupSnapshot): boolean {
  const { uid = "" } = snapshot.metadata;
  return group !== undefined && isGranted(group, { uid, attempt: attemptOf(snapshot) });
}

/** Whether it had granted it, and the time was over before anything was made: it has to be asked again. */
export function isFreezeOver({ group }: NamedGroup, snapshot: VolumeGroupSnapshot): boolean {
  const { uid = "" } = snapshot.metadata;
  return group !== undefined && grantOf(group, { uid, attempt: attemptOf(snapshot) })?.expired === true;
}

/** What a complaint about the group depends on: not on whether it is frozen. */
export function namedGroupKey(named: NamedGroup | undefined): unknown {
  if (named === undefined) return undefined;
  const { group, isServed, name } = named;
  const ready = group?.status?.conditions?.find(({ type }) => type === "Ready");
  const members = group?.status?.members?.map(({ claimName, state }) => [claimName, state]);
  const { deletionTimestamp, generation, uid } = group?.metadata ?? {};
  return [name, isServed, uid, generation, deletionTimestamp, ready?.status, ready?.message, members];
}
