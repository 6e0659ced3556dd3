import {
  hasFinalizer,
  isDeleting,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
} from "@mooring/store";
import { DONE, type Rest } from "../common/controller.ts";
import { isMemberContent } from "../common/group-member.ts";
import {
  BEING_CREATED,
  BEING_DELETED,
  CONTENT_FINALIZER,
  FROZEN_PARAMETERS,
  SNAPSHOT_SECRET_NAME,
  SNAPSHOT_SECRET_NAMESPACE,
} from "../common/names.ts";
import { type CallFailure, isUncertain, provesNothingMade } from "../csi/codes.ts";
import {
  type SecretRef,
  SNAPSHOT_CLASS_ROLES,
  secretReference,
  snapshotClassTokens,
  TemplateError,
} from "../secrets/references.ts";
import { snapshotParameters } from "../snapshot/content-for.ts";

/** A snapshot as the driver describes it. */
export interface CutSnapshot {
  handle: string;
  ready: boolean;
  /** Nanoseconds since the epoch. */
  creationTime: number;
  /** Bytes; 0: not known. */
  sizeBytes: number;
}

/** What the driver answered last in this process, until it is written down. */
export type ContentAnswer =
  | { kind: "cut"; snapshot: CutSnapshot }
  | { kind: "removed" }
  | { kind: "failed"; failure: CallFailure };

export interface ContentView {
  driver: string;
  content: VolumeSnapshotContent | undefined;
  snapshotClass: VolumeSnapshotClass | undefined;
  namePrefix: string;
  answer: ContentAnswer | undefined;
  /** An earlier call may have cut the snapshot. */
  mayExist: boolean;
  pauseMs: number;
}

export interface CutArguments {
  name: string;
  sourceVolumeId: string;
  parameters: Record<string, string>;
  secret?: SecretRef;
}

export type ContentStep =
  | { do: "add-finalizer" }
  /** A CreateSnapshot call may have an effect from now on. */
  | { do: "mark-being-created" }
  /** It is known which effect it had. */
  | { do: "clear-being-created" }
  | { do: "cut"; arguments: CutArguments }
  | { do: "inspect"; handle: string; secret?: SecretRef }
  | { do: "write-status"; snapshot: CutSnapshot }
  | { do: "report"; reason: string; message: string }
  | { do: "delete-data"; handle: string; secret?: SecretRef }
  | { do: "release" };

/** The next step for one VolumeSnapshotContent: what the csi-snapshotter next to the driver does. */
export function decideContent(view: ContentView): ContentStep | Rest {
  const { content } = view;
  if (content?.spec.driver !== view.driver) return DONE;
  // Members of a group live and die with it.
  if (isMemberContent(content)) return DONE;
  if (view.answer?.kind === "cut") return { do: "write-status", snapshot: view.answer.snapshot };
  if (isDeleting(content)) return decideDeletion(view, content);
  if (!hasFinalizer(content, CONTENT_FINALIZER)) return { do: "add-finalizer" };
  return content.spec.source.volumeHandle === undefined
    ? decideImported(view, content)
    : decideCut(view, content, content.spec.source.volumeHandle);
}

function decideCut(
  view: ContentView,
  content: VolumeSnapshotContent,
  volumeHandle: string,
): ContentStep | Rest {
  const { pauseMs } = view;
  const marked = isMarked(content, BEING_CREATED);
  const known = content.status?.snapshotHandle !== undefined;
  if (marked && (known || isSettled(view))) return { do: "clear-being-created" };
  if (known && content.status?.readyToUse === true) return DONE;
  if (pauseMs > 0) return { do: "wait", ms: pauseMs };
  const wanted = cutArguments(view, content, volumeHandle);
  if ("error" in wanted) return { do: "report", reason: "SnapshotCreationFailed", message: wanted.error };
  // With the handle on record a repetition is a question, not a risk.
  if (!marked && !known) return { do: "mark-being-created" };
  return { do: "cut", arguments: wanted };
}

function decideImported(view: ContentView, content: VolumeSnapshotContent): ContentStep | Rest {
  const { snapshotHandle } = content.spec.source;
  if (snapshotHandle === undefined || content.status?.readyToUse === true) return DONE;
  if (view.pauseMs > 0) return { do: "wait", ms: view.pauseMs };
  const secret = listSecret(view, content);
  if (secret !== undefined && "error" in secret)
    return { do: "report", reason: "SnapshotContentCheckandUpdateFailed", message: secret.error };
  return { do: "inspect", handle: snapshotHandle, ...(secret === undefined ? {} : { secret }) };
}

/**
 * A content is deleted on the storage system only when its snapshot is being deleted, or when it never was bound.
 * While a CreateSnapshot call is uncertain it is repeated first: only its answer says what there is to delete.
 */
function decideDeletion(view: ContentView, content: VolumeSnapshotContent): ContentStep | Rest {
  const { answer, pauseMs } = view;
  const { snapshotHandle, volumeHandle } = content.spec.source;
  const marked = isMarked(content, BEING_CREATED);
  const handle = content.status?.snapshotHandle ?? snapshotHandle;
  if (marked && volumeHandle !== undefined) {
    if (handle !== undefined || isSettled(view)) return { do: "clear-being-created" };
    if (pauseMs > 0) return { do: "wait", ms: pauseMs };
    const wanted = cutArguments(view, content, volumeHandle);
    return "error" in wanted
      ? { do: "report", reason: "SnapshotDeleteError", message: wanted.error }
      : { do: "cut", arguments: wanted };
  }
  const neverBound = snapshotHandle !== undefined && !content.spec.volumeSnapshotRef.uid;
  if (!neverBound && !isMarked(content, BEING_DELETED)) return DONE;
  if (content.spec.deletionPolicy === "Delete" && handle !== undefined && answer?.kind !== "removed") {
    if (pauseMs > 0) return { do: "wait", ms: pauseMs };
    const secret = deletionSecret(content);
    return { do: "delete-data", handle, ...(secret === undefined ? {} : { secret }) };
  }
  return hasFinalizer(content, CONTENT_FINALIZER) ? { do: "release" } : DONE;
}

const isMarked = (content: VolumeSnapshotContent, annotation: string): boolean =>
  content.metadata.annotations?.[annotation] !== undefined;

const isSettled = ({ answer, mayExist }: ContentView): boolean =>
  answer?.kind === "failed" && provesNothingMade(answer.failure, isUncertain(answer.failure), mayExist);

function cutArguments(
  { namePrefix, snapshotClass }: ContentView,
  content: VolumeSnapshotContent,
  sourceVolumeId: string,
): CutArguments | { error: string } {
  const frozen = content.metadata.annotations?.[FROZEN_PARAMETERS];
  const secret = deletionSecret(content);
  const name = `${namePrefix}-${content.spec.volumeSnapshotRef.uid}`;
  const rest = { name, sourceVolumeId, ...(secret === undefined ? {} : { secret }) };
  if (frozen !== undefined) return { ...rest, parameters: JSON.parse(frozen) as Record<string, string> };
  if (snapshotClass === undefined)
    return { error: `volumesnapshotclass ${content.spec.volumeSnapshotClassName ?? ""} does not exist` };
  return catchTemplateError(() => ({
    ...rest,
    parameters: snapshotParameters(snapshotClass.parameters ?? {}),
  }));
}

function deletionSecret({ metadata: { annotations = {} } }: VolumeSnapshotContent): SecretRef | undefined {
  const [name, namespace] = [annotations[SNAPSHOT_SECRET_NAME], annotations[SNAPSHOT_SECRET_NAMESPACE]];
  return name && namespace ? { name, namespace } : undefined;
}

function listSecret({ snapshotClass }: ContentView, { metadata }: VolumeSnapshotContent) {
  const parameters = snapshotClass?.parameters ?? {};
  return catchTemplateError(() =>
    secretReference(SNAPSHOT_CLASS_ROLES.list, parameters, snapshotClassTokens(metadata.name)),
  );
}

function catchTemplateError<T>(make: () => T): T | { error: string } {
  try {
    return make();
  } catch (error) {
    if (error instanceof TemplateError) return { error: error.message };
    throw error;
  }
}

/** What a pause after a failure is about. */
export function contentRequestKey({ content, snapshotClass }: ContentView): string {
  if (content === undefined) return "";
  const { metadata, spec, status } = content;
  const parameters = metadata.annotations?.[FROZEN_PARAMETERS] ?? snapshotClass?.parameters;
  const phase = [metadata.deletionTimestamp, isMarked(content, BEING_DELETED), status?.snapshotHandle];
  return JSON.stringify([spec, deletionSecret(content), parameters, phase]);
}
