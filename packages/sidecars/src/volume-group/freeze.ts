import {
  hasFinalizer,
  isDeleting,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
} from "@mooring/store";
import { GROUP_FINALIZER } from "../common/names.ts";
import type { FrozenFor, VolumeGroup } from "./api.ts";
import { FREEZE_ATTEMPT, SNAPSHOT_OF_GROUP } from "./names.ts";

/** The VolumeGroup that a group snapshot is of; undefined: its selector says which claims it is of. */
export function groupOfSnapshot({ metadata }: VolumeGroupSnapshot): string | undefined {
  return metadata.annotations?.[SNAPSHOT_OF_GROUP] || undefined;
}

/**
 * Whether a group snapshot of a VolumeGroup wants the membership to stay as it is: from its finalizer on, which it gets
 * when everything else is known to be right, until its snapshot is on record or has failed. It is all in the objects: nobody has
 * to take a freeze back, also when whoever asked for it was killed. A driver that responds has made the snapshot, whatever it returns of the time
 * and however long it takes to get ready then.
 */
export function wantsFreeze(
  snapshot: VolumeGroupSnapshot,
  content?: VolumeGroupSnapshotContent | undefined,
): boolean {
  const { creationTime, error, readyToUse } = snapshot.status ?? {};
  const isSnapshotted = content?.status?.volumeGroupSnapshotHandle !== undefined;
  const isOver = isSnapshotted || creationTime !== undefined || readyToUse === true || error !== undefined;
  return !isOver && !isDeleting(snapshot) && hasFinalizer(snapshot, GROUP_FINALIZER);
}

/** How often a group snapshot has given up after an error, and begun anew. */
export function attemptOf({ metadata }: VolumeGroupSnapshot): number {
  return Number(metadata.annotations?.[FREEZE_ATTEMPT] ?? 0) || 0;
}

/** The group snapshots that want it now, by name. */
export function freezesOf(
  snapshots: readonly VolumeGroupSnapshot[],
  contentOf: (snapshot: VolumeGroupSnapshot) => VolumeGroupSnapshotContent | undefined,
): FrozenFor[] {
  return snapshots
    .filter((snapshot) => wantsFreeze(snapshot, contentOf(snapshot)))
    .map((snapshot) => {
      const { name, uid = "" } = snapshot.metadata;
      return { name, uid, attempt: attemptOf(snapshot) };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Whether just this attempt of just this group snapshot was granted. */
export function isGranted(
  granted: readonly FrozenFor[] | undefined,
  { attempt, uid }: Pick<FrozenFor, "attempt" | "uid">,
): boolean {
  return granted?.some((each) => each.uid === uid && each.attempt === attempt) === true;
}

/** Those that have been granted that the membership is frozen, and still want it. */
export function frozenFor({ status }: VolumeGroup, wanted: readonly FrozenFor[]): FrozenFor[] {
  return wanted.filter((each) => isGranted(status?.frozenFor, each));
}

/** As a sentence. */
export function freezeMessage(freezes: readonly FrozenFor[]): string {
  return `the membership is frozen until VolumeGroupSnapshot ${freezes.map(({ name }) => name).join(", ")} is cut`;
}
