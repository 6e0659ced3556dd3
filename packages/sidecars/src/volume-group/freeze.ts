import {
  hasFinalizer,
  isDeleting,
  msLeft,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
} from "@mooring/store";
import { GROUP_FINALIZER } from "../common/names.ts";
import { FREEZE_ATTEMPT } from "../common/volume-group-names.ts";
import type { FrozenFor, VolumeGroup } from "../kube/volume-group.ts";
import type { VolumeGroupView } from "./view.ts";

/**
 * Whether a group snapshot of a VolumeGroup wants the membership to stay as it is: from its finalizer on, which it gets
 * when everything else is known to be right, until its snapshot is on record or has failed. It is all in the objects: no
 * process has to take a freeze back, also when the one that asked for it was killed. A driver that responds has made the
 * snapshot, whatever it returns of the time and however long it takes to get ready then.
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

/** What the group has recorded of just this attempt of just this group snapshot. */
export function grantOf(
  { status }: VolumeGroup,
  { attempt, uid }: Pick<FrozenFor, "attempt" | "uid">,
): FrozenFor | undefined {
  return status?.frozenFor?.find((each) => each.uid === uid && each.attempt === attempt);
}

const isValid = (grant: FrozenFor | undefined): boolean => grant !== undefined && grant.expired !== true;

/** Whether this attempt was granted that no claim joins or leaves, and still is. */
export function isGranted(group: VolumeGroup, asked: Pick<FrozenFor, "attempt" | "uid">): boolean {
  return isValid(grantOf(group, asked));
}

/**
 * How long a grant lasts, in milliseconds, by the time that one call may take: a call has failed or has returned by then, and
 * as much again is for what comes before it. A process that asked and has made nothing of it since does not run.
 */
export function freezeLimitMs(timeoutMs: number): number {
  return 2 * timeoutMs;
}

/** Milliseconds until a grant expires; of one that has no time yet it is all of them. */
export function remainingMs({ since }: FrozenFor, { freezeLimitMs: limit, now }: FreezeClock): number {
  if (since === undefined) return limit;
  return msLeft({ since: Date.parse(since), forMs: limit, now: Date.parse(now) });
}

type FreezeClock = Pick<VolumeGroupView, "freezeLimitMs" | "now">;

/**
 * What the group records of those that want it frozen now: grants that were given keep their time, and end when it is over.
 * One that has ended stays on record while that attempt is, so it is not granted again. `mayGrant`: nothing is being
 * changed.
 */
export function grantsNow(view: VolumeGroupView, group: VolumeGroup, mayGrant: boolean): FrozenFor[] {
  return view.freezes.flatMap((asked) => {
    const grant = grantOf(group, asked);
    if (grant === undefined) return mayGrant ? [{ ...asked, since: view.now }] : [];
    if (grant.expired === true) return [grant];
    const dated = { ...grant, since: grant.since ?? view.now };
    return [remainingMs(dated, view) > 0 ? dated : { ...dated, expired: true }];
  });
}

/** Those that have been granted that the membership is frozen, and still want it. */
export function frozenFor(group: VolumeGroup, wanted: readonly FrozenFor[]): FrozenFor[] {
  return wanted.flatMap((each) => {
    const grant = grantOf(group, each);
    return grant !== undefined && isValid(grant) ? [grant] : [];
  });
}

/** As a sentence. */
export function freezeMessage(freezes: readonly FrozenFor[]): string {
  return `the membership is frozen until VolumeGroupSnapshot ${freezes.map(({ name }) => name).join(", ")} is made`;
}
