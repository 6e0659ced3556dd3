import { DONE, defined, hasFinalizer, isDeleting, type Outcome, wait } from "@mooring/store";
import { untilRetry } from "../../api/attempts.ts";
import { ENGINE_FINALIZER } from "../../api/names.ts";
import { pendingRestore } from "../../api/pending.ts";
import type { Snapshot, SnapshotStatus } from "../../api/snapshot.ts";
import type { Volume } from "../../api/volume.ts";
import { fail } from "../../refused.ts";
import { isAttachedTo } from "../../tickets/exposure.ts";

/** Everything that a decision about a snapshot may depend on. */
export interface SnapshotView {
  snapshot: Snapshot;
  nodeID: string;
  /** False: the snapshot's pool is not open here. */
  poolOpen: boolean;
  /** The snapshot's own image and when it was made. */
  image: { size: number; createdAt: Date } | undefined;
  /** The volume to copy; undefined when there is none. */
  volume: Volume | undefined;
  now: Date;
  /** The group that it is a member of. */
  group?:
    | {
        /** This process may still be making images for it. */
        underWay: boolean;
        /** It has failed, is being deleted or is gone. */
        going: boolean;
        /** The one moment of all members; absent before the group is committed. */
        creationTime?: string;
      }
    | undefined;
}

type SnapshotRecord = "copying" | "ready" | "lost" | "settled";

/** One step for a snapshot whose volume this node is responsible for. */
export type SnapshotStep =
  | Outcome
  | { do: "add-finalizer" }
  | { do: "remove-finalizer" }
  | { do: "record"; what: SnapshotRecord; status: SnapshotStatus }
  | { do: "copy" }
  | { do: "remove-image" };

/** The next step for a snapshot of this node. Pure. */
export function decide(view: SnapshotView): SnapshotStep {
  const { snapshot, poolOpen, image } = view;
  const deleting = isDeleting(snapshot);
  if (!hasFinalizer(snapshot, ENGINE_FINALIZER)) return deleting ? DONE : { do: "add-finalizer" };
  if (!poolOpen) return fail("UNAVAILABLE", `pool ${snapshot.spec.pool} is not open on this node`);
  if (deleting) return deletion(view);
  const { status } = snapshot;
  if (status?.creationTime !== undefined) return afterCopy(view, status);
  if (view.group !== undefined && view.group.creationTime === undefined) return member(view);
  return image === undefined ? beforeCopy(view) : record("ready", view);
}

/** A member of a group is not removed alone: the others would be no group any more. */
function deletion({ snapshot, image, group, volume }: SnapshotView): SnapshotStep {
  const { name } = snapshot.metadata;
  // What a group goes back to as a whole stays until its last member is there.
  const { revert } = volume?.spec.restoreFrom ?? {};
  if (volume !== undefined && revert !== undefined && pendingRestore(volume)?.snapshot === name) {
    return fail("UNAVAILABLE", `group revert ${revert.name} puts volume ${volume.metadata.name} back to it`);
  }
  if (group?.underWay) return fail("UNAVAILABLE", `the barrier of ${snapshot.spec.group} has not ended yet`);
  if (group !== undefined && !group.going) {
    const message = `snapshot ${name} is a member of group snapshot ${snapshot.spec.group} and goes with it`;
    return fail("FAILED_PRECONDITION", message, `delete group snapshot ${snapshot.spec.group}`);
  }
  return image === undefined ? { do: "remove-finalizer" } : { do: "remove-image" };
}

/** Its group copies it, with all members at once; an image that the group has not reported means nothing yet. */
function member(view: SnapshotView): SnapshotStep {
  const step = beforeCopy(view);
  return step.do === "copy" ? DONE : step;
}

function beforeCopy(view: SnapshotView): SnapshotStep {
  const { snapshot, volume, group } = view;
  const { name } = snapshot.metadata;
  if (group?.creationTime !== undefined) return lost(view);
  if (volume === undefined) return fail("NOT_FOUND", `volume ${snapshot.spec.volume} does not exist`);
  if (volume.spec.pool !== snapshot.spec.pool) {
    const message = `volume ${snapshot.spec.volume} is in pool ${volume.spec.pool}, not in ${snapshot.spec.pool}`;
    return fail("INVALID_ARGUMENT", `snapshot ${name}: ${message}`);
  }
  if (volume.status?.size === undefined) {
    return fail("UNAVAILABLE", `volume ${snapshot.spec.volume} is not ready yet`);
  }
  if (volume.status.robustness === "faulted") {
    const why = volume.status.error?.message ?? "its data may be damaged";
    return fail("FAILED_PRECONDITION", `volume ${snapshot.spec.volume} is faulted: ${why}`);
  }
  // A ticket brings the volume here, and nothing moves it while it is copied.
  if (!isAttachedTo(volume, view.nodeID)) return DONE;
  const afterMs = untilRetry(snapshot.status ?? {}, view.now);
  if (afterMs > 0) return wait(afterMs);
  // Before the copy: the volume may be gone when the copy is recorded, and no agent may ever format the copy.
  const { formatted } = volume.status;
  const known = snapshot.status !== undefined && snapshot.status.formatted === formatted;
  return known && snapshot.status?.ownerID !== undefined ? { do: "copy" } : record("copying", view);
}

/** The point in time is set once; the image it names can only be there or be lost. */
function afterCopy(view: SnapshotView, status: SnapshotStatus): SnapshotStep {
  const damage = damageOf(view);
  if (damage !== undefined) return status.readyToUse ? record("lost", view) : fail("DATA_LOSS", damage);
  if (!status.readyToUse) return record("ready", view);
  return status.error === undefined && status.ownerID === view.nodeID ? DONE : record("settled", view);
}

function lost({ snapshot }: SnapshotView): Outcome {
  return fail("DATA_LOSS", isGone(snapshot.metadata.name));
}

const isGone = (name: string): string => `the image of snapshot ${name} is gone`;

/** What is wrong with the image of a snapshot that had a whole one; undefined when nothing is. It never grows or shrinks. */
function damageOf({ snapshot, image }: SnapshotView): string | undefined {
  const { name } = snapshot.metadata;
  if (image === undefined) return isGone(name);
  const size = snapshot.status?.restoreSize ?? 0;
  return image.size >= size
    ? undefined
    : `the image of snapshot ${name} has ${image.size} bytes, but had ${size}`;
}

const NEW: SnapshotStatus = { readyToUse: false };

function record(what: SnapshotRecord, view: SnapshotView): SnapshotStep {
  const { error: _, failures, failedAt, ...before } = view.snapshot.status ?? NEW;
  // Only success ends the count: the record before a copy does not show how the copy will go.
  const counted = what === "copying" && failures !== undefined && failedAt !== undefined;
  const status = { ...before, ...(counted ? { failures, failedAt } : {}), ownerID: view.nodeID };
  return { do: "record", what, status: NEXT[what](status, view) };
}

const NEXT: Readonly<Record<SnapshotRecord, (status: SnapshotStatus, view: SnapshotView) => SnapshotStatus>> =
  {
    copying: ({ formatted: _, ...status }, { volume }) => {
      const formatted = volume?.status?.formatted;
      return {
        ...status,
        readyToUse: false,
        ...defined({ formatted }),
      };
    },
    // The image's own time: the same after a kill between the copy and this record.
    ready: (status, { image, group }) => ({
      ...status,
      readyToUse: true,
      creationTime:
        status.creationTime ?? group?.creationTime ?? (image?.createdAt ?? new Date(0)).toISOString(),
      restoreSize: image?.size ?? 0,
    }),
    lost: (status, view) => ({
      ...status,
      readyToUse: false,
      error: { code: "DATA_LOSS", message: damageOf(view) ?? isGone(view.snapshot.metadata.name) },
    }),
    settled: (status) => status,
  };
