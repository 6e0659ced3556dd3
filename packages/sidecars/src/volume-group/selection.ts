import {
  type LabelRequirement,
  labelRequirements,
  matchesLabels,
  type PersistentVolumeClaim,
} from "@mooring/store";
import { lockOf } from "../common/member-lock.ts";
import { WANTED_GROUP } from "../common/volume-group-names.ts";
import type { VolumeGroup } from "../kube/volume-group.ts";

type Requirements = LabelRequirement[] | { error: string };

/** Objects never change: each is parsed once, not once per claim of its namespace. */
const parsed = new WeakMap<VolumeGroup, Requirements>();

/** The conditions of a group's selector: none when it has none or an empty one, or why it is not valid. */
export function requirementsOf(group: VolumeGroup): Requirements {
  const requirements = parsed.get(group) ?? parse(group);
  parsed.set(group, requirements);
  return requirements;
}

function parse({ spec }: VolumeGroup): Requirements {
  try {
    return labelRequirements(spec.source.selector ?? {});
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** Whether the group's spec names or selects a claim. An empty selector selects nothing. */
export function asksFor(group: VolumeGroup, claim: PersistentVolumeClaim): boolean {
  if (claim.metadata.namespace !== group.metadata.namespace) return false;
  const wish = claim.metadata.annotations?.[WANTED_GROUP];
  if (wish === group.metadata.name) return true;
  if (group.spec.source.claimNames?.includes(claim.metadata.name) === true) return true;
  const requirements = requirementsOf(group);
  return (
    Array.isArray(requirements) &&
    requirements.length > 0 &&
    matchesLabels(requirements, claim.metadata.labels)
  );
}

/** A group whose content was brought in and that sets nothing of members: they are those that the storage system has. */
export function takesWhatIsThere({ spec: { source } }: VolumeGroup): boolean {
  return (
    source.volumeGroupContentName !== undefined &&
    source.selector === undefined &&
    source.claimNames === undefined
  );
}

/** Whether a read of the group reads this claim: one test for reading and for being woken. */
export function isRead(
  group: VolumeGroup,
  claim: PersistentVolumeClaim,
  isInGroup: (claim: PersistentVolumeClaim) => boolean,
): boolean {
  if (claim.metadata.namespace !== group.metadata.namespace) return false;
  return (
    lockOf(claim)?.uid === group.metadata.uid ||
    asksFor(group, claim) ||
    (takesWhatIsThere(group) && isInGroup(claim))
  );
}
