import {
  DONE,
  hasFinalizer,
  isDeleting,
  type Outcome,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
  wait,
} from "@mooring/store";
import { isGroupMember } from "../common/group-member.ts";
import {
  BEING_DELETED,
  CLAIM_SOURCE_FINALIZER,
  DEFAULT_SNAPSHOT_CLASS,
  SNAPSHOT_BOUND_FINALIZER,
  SNAPSHOT_FINALIZER,
  SNAPSHOT_SOURCE_FINALIZER,
} from "../common/names.ts";
import { TemplateError } from "../secrets/references.ts";
import { contentFor, contentNameFor } from "./content-for.ts";
import { sameStatus, statusFor } from "./status.ts";

/** Everything that the next step for a VolumeSnapshot depends on. */
export interface SnapshotView {
  driver: string;
  snapshot: VolumeSnapshot | undefined;
  /** The content that the snapshot is, wants to be, or would be bound to. */
  content: VolumeSnapshotContent | undefined;
  snapshotClass: VolumeSnapshotClass | undefined;
  /** All classes, to find the default one. */
  classes: readonly VolumeSnapshotClass[];
  /** The volume is not deleted while it is copied; else nothing but the claim keeps it. */
  reclaims: boolean;
  /** The node that has the volume, where that matters. */
  managedBy: string | undefined;
  /** The source claim, and its volume. */
  claim: PersistentVolumeClaim | undefined;
  volume: PersistentVolume | undefined;
  /** RFC 3339, for errors that are new. */
  now: string;
  /** Milliseconds that the driver may still take for the content before it is slow. */
  patienceMs: number;
  backoffMs: number;
}

/** One visible change for a VolumeSnapshot. */
export type SnapshotStep =
  | { do: "set-class"; className: string }
  | { do: "add-finalizer"; finalizers: string[] }
  | { do: "add-finalizer-to-claim" }
  | { do: "create-content"; content: VolumeSnapshotContent }
  | { do: "bind-content"; className: string | undefined }
  /** `creating`: the driver has not responded yet. */
  | {
      do: "write-status";
      status: NonNullable<VolumeSnapshot["status"]>;
      creating: boolean;
      events: SnapshotEvent[];
    }
  | { do: "report"; reason: string; message: string }
  | { do: "mark-being-deleted" }
  | { do: "delete-content" }
  | { do: "release" };

type SnapshotEvent = "SnapshotCreated" | "SnapshotReady";

const OURS = [SNAPSHOT_FINALIZER, SNAPSHOT_BOUND_FINALIZER];

/** The next step for one VolumeSnapshot: what the cluster-wide snapshot-controller does. */
export function decideSnapshot(view: SnapshotView): SnapshotStep | Outcome {
  const { snapshot } = view;
  if (snapshot === undefined || isForeign(view)) return DONE;
  // A member is made, reported and deleted with its group.
  if (isGroupMember(snapshot)) return DONE;
  if (isDeleting(snapshot)) return decideDeletion(view, snapshot);
  if (view.backoffMs > 0) return wait(view.backoffMs);
  return snapshot.spec.source.volumeSnapshotContentName === undefined
    ? decideDynamic(view, snapshot)
    : decideImported(view, snapshot, snapshot.spec.source.volumeSnapshotContentName);
}

/** A snapshot belongs to the driver of its content, else of its class, else of its source. */
function isForeign({ content, snapshotClass, volume, driver }: SnapshotView): boolean {
  const of = content?.spec.driver ?? snapshotClass?.driver ?? volume?.spec?.csi?.driver;
  return of !== undefined && of !== driver;
}

function decideDynamic(view: SnapshotView, snapshot: VolumeSnapshot): SnapshotStep | Outcome {
  const { content } = view;
  const bound = snapshot.status?.boundVolumeSnapshotContentName;
  if (content !== undefined) {
    if (!refersTo(content, snapshot))
      return {
        do: "report",
        reason: "SnapshotContentMisbound",
        message: `content ${content.metadata.name} belongs to another snapshot`,
      };
    // Somebody else's data under the name of what is to be made.
    if (content.spec.source.volumeHandle === undefined)
      return {
        do: "report",
        reason: "SnapshotContentMismatch",
        message: `content ${content.metadata.name} is pre-provisioned, and not made from a volume`,
      };
    return addFinalizersTo(snapshot, content.spec.deletionPolicy) ?? awaitDriver(view, snapshot, content);
  }
  if (bound !== undefined)
    return {
      do: "report",
      reason: "SnapshotContentMissing",
      message: `VolumeSnapshotContent ${bound} is missing`,
    };
  return decideCreation(view, snapshot);
}

function decideCreation(view: SnapshotView, snapshot: VolumeSnapshot): SnapshotStep | Outcome {
  const { claim, managedBy, snapshotClass, volume } = view;
  const problem = sourceProblem(view, snapshot);
  if (problem !== undefined) return { do: "report", ...problem };
  if (claim === undefined || volume === undefined) return DONE;
  if (snapshot.spec.volumeSnapshotClassName === undefined) return chooseClass(view);
  if (snapshotClass === undefined)
    return {
      do: "report",
      reason: "GetSnapshotClassFailed",
      message: `volumesnapshotclass ${snapshot.spec.volumeSnapshotClassName} does not exist`,
    };
  if (snapshotClass.driver !== volume.spec?.csi?.driver)
    return {
      do: "report",
      reason: "SnapshotContentCreationFailed",
      message: `class ${snapshotClass.metadata.name} is for driver ${snapshotClass.driver}, the volume is of ${volume.spec?.csi?.driver}`,
    };
  const step = addFinalizersTo(snapshot, snapshotClass.deletionPolicy);
  if (step !== undefined) return step;
  if (!view.reclaims && !hasFinalizer(claim, CLAIM_SOURCE_FINALIZER)) return { do: "add-finalizer-to-claim" };
  try {
    return {
      do: "create-content",
      content: contentFor(snapshot, snapshotClass, { claim, volume, managedBy }),
    };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return { do: "report", reason: "SnapshotContentCreationFailed", message: error.message };
  }
}

function sourceProblem(
  { claim, volume }: SnapshotView,
  snapshot: VolumeSnapshot,
): { reason: string; message: string } | undefined {
  const name = snapshot.spec.source.persistentVolumeClaimName ?? "";
  if (claim === undefined)
    return { reason: "SnapshotPVCSourceMissing", message: `claim ${name} does not exist` };
  const fail = (message: string) => ({ reason: "SnapshotContentCreationFailed", message });
  if (isDeleting(claim)) return fail(`claim ${name} is being deleted`);
  if (claim.status?.phase !== "Bound" || !claim.spec?.volumeName) return fail(`claim ${name} is not bound`);
  if (volume === undefined) return fail(`volume ${claim.spec.volumeName} of claim ${name} does not exist`);
  const owner = volume.spec?.claimRef;
  if (owner?.uid !== claim.metadata.uid)
    return fail(`volume ${volume.metadata.name} is not bound to claim ${name}`);
  if (volume.spec?.csi === undefined) return fail(`volume ${volume.metadata.name} is not a CSI volume`);
  return undefined;
}

function chooseClass({ classes, driver }: SnapshotView): SnapshotStep {
  const defaults = classes.filter(
    ({ driver: of, metadata }) => of === driver && metadata.annotations?.[DEFAULT_SNAPSHOT_CLASS] === "true",
  );
  const [only] = defaults;
  if (only !== undefined && defaults.length === 1) return { do: "set-class", className: only.metadata.name };
  return {
    do: "report",
    reason: "SetDefaultSnapshotClassFailed",
    message:
      only === undefined
        ? `cannot find a default snapshot class for driver ${driver}`
        : `${defaults.length} default snapshot classes were found for driver ${driver}`,
  };
}

/** Pre-provisioned: an administrator made the content, for exactly this snapshot. */
function decideImported(view: SnapshotView, snapshot: VolumeSnapshot, name: string): SnapshotStep | Outcome {
  const { content } = view;
  if (content === undefined)
    return {
      do: "report",
      reason: "SnapshotContentMissing",
      message: `VolumeSnapshotContent ${name} is missing`,
    };
  if (content.spec.source.snapshotHandle === undefined)
    return {
      do: "report",
      reason: "SnapshotContentMismatch",
      message: `content ${name} has no snapshot handle in its source`,
    };
  const { uid: owner, name: refName, namespace } = content.spec.volumeSnapshotRef;
  const named = refName === snapshot.metadata.name && namespace === snapshot.metadata.namespace;
  if (!named || (owner && owner !== snapshot.metadata.uid))
    return {
      do: "report",
      reason: "SnapshotContentMisbound",
      message: `content ${name} belongs to another snapshot`,
    };
  const step = addFinalizersTo(snapshot, content.spec.deletionPolicy);
  if (step !== undefined) return step;
  const { volumeSnapshotClassName: className } = snapshot.spec;
  const lacksClass = className !== undefined && content.spec.volumeSnapshotClassName === undefined;
  if (!owner || lacksClass) return { do: "bind-content", className };
  return decideStatus(view, snapshot, content);
}

/** Both finalizers at once, before anything that they protect exists. */
function addFinalizersTo(snapshot: VolumeSnapshot, policy: "Delete" | "Retain"): SnapshotStep | undefined {
  const wanted = policy === "Delete" ? OURS : [SNAPSHOT_FINALIZER];
  const missing = wanted.filter((finalizer) => !hasFinalizer(snapshot, finalizer));
  return missing.length === 0 ? undefined : { do: "add-finalizer", finalizers: missing };
}

/**
 * Reports a snapshot that takes long, and protects its claim. Before that time, both would be two writes for moments:
 * reclaim keeps the data in any case, for it deletes no volume that is being copied.
 */
function awaitDriver(
  view: SnapshotView,
  snapshot: VolumeSnapshot,
  content: VolumeSnapshotContent,
): SnapshotStep | Outcome {
  const isUnfinished = content.status?.readyToUse !== true;
  const patience = isUnfinished ? view.patienceMs : 0;
  if (isUnfinished && patience === 0 && isClaimFree(view, content)) return { do: "add-finalizer-to-claim" };
  const isAsked = snapshot.status === undefined && content.status === undefined;
  if (isAsked && patience > 0) return wait(patience);
  const step = decideStatus(view, snapshot, content);
  return step === DONE && patience > 0 ? wait(patience) : step;
}

/** The claim that the content is made from may go at any moment. One that has taken its name is another. */
function isClaimFree({ claim, volume }: SnapshotView, { spec }: VolumeSnapshotContent): boolean {
  if (claim === undefined || isDeleting(claim) || hasFinalizer(claim, CLAIM_SOURCE_FINALIZER)) return false;
  return volume?.spec?.csi?.volumeHandle === spec.source.volumeHandle;
}

function decideStatus(
  view: SnapshotView,
  snapshot: VolumeSnapshot,
  content: VolumeSnapshotContent,
): SnapshotStep | Outcome {
  const status = statusFor(snapshot, content, view.now);
  if (sameStatus(status, snapshot.status ?? {})) return DONE;
  const events: SnapshotEvent[] = [];
  if (status.creationTime !== undefined && snapshot.status?.creationTime === undefined)
    events.push("SnapshotCreated");
  if (status.readyToUse === true && snapshot.status?.readyToUse !== true) events.push("SnapshotReady");
  const isAsked = snapshot.status === undefined && content.status === undefined;
  return {
    do: "write-status",
    status,
    creating: isAsked && Boolean(content.spec.source.volumeHandle),
    events,
  };
}

/** The content goes before the snapshot, and never because its snapshot is merely missing. */
function decideDeletion(view: SnapshotView, snapshot: VolumeSnapshot): SnapshotStep | Outcome {
  const { content } = view;
  if (!OURS.some((finalizer) => hasFinalizer(snapshot, finalizer))) return DONE;
  if (content === undefined || !refersTo(content, snapshot)) return { do: "release" };
  if (hasFinalizer(snapshot, SNAPSHOT_SOURCE_FINALIZER)) {
    if (view.backoffMs > 0) return wait(view.backoffMs);
    return {
      do: "report",
      reason: "SnapshotDeletePending",
      message: "a volume is being made from the snapshot",
    };
  }
  if (content.metadata.annotations?.[BEING_DELETED] === undefined) return { do: "mark-being-deleted" };
  if (content.spec.deletionPolicy === "Retain") return { do: "release" };
  return isDeleting(content) ? DONE : { do: "delete-content" };
}

function refersTo(
  { spec: { volumeSnapshotRef: ref } }: VolumeSnapshotContent,
  { metadata }: VolumeSnapshot,
): boolean {
  return ref.uid === metadata.uid && ref.name === metadata.name && ref.namespace === metadata.namespace;
}

/** The content to read for a snapshot. */
export function contentNameOf(snapshot: VolumeSnapshot): string {
  const { spec, status } = snapshot;
  return (
    spec.source.volumeSnapshotContentName ??
    status?.boundVolumeSnapshotContentName ??
    contentNameFor(snapshot)
  );
}
