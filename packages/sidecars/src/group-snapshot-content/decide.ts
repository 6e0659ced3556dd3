import {
  hasFinalizer,
  isDeleting,
  type VolumeGroupSnapshotClass,
  type VolumeGroupSnapshotContent,
} from "@mooring/store";
import { DONE, type Rest } from "../common/controller.ts";
import {
  FROZEN_GROUP_PARAMETERS,
  GROUP_BEING_CREATED,
  GROUP_BEING_DELETED,
  GROUP_CONTENT_FINALIZER,
} from "../common/names.ts";
import { type CallFailure, provesNoGroupMade } from "../csi/codes.ts";
import { type SecretRef, TemplateError } from "../secrets/references.ts";
import { type CutGroup, faultOf, isOnRecord } from "./cut-group.ts";
import { groupGetSecret, groupParameters, groupSecret } from "./secrets.ts";

/** What the driver answered last in this process, until it is written down. */
export type GroupAnswer =
  | { kind: "cut"; group: CutGroup }
  | { kind: "removed" }
  | { kind: "failed"; failure: CallFailure };

export interface GroupContentView {
  driver: string;
  content: VolumeGroupSnapshotContent | undefined;
  groupClass: VolumeGroupSnapshotClass | undefined;
  namePrefix: string;
  answer: GroupAnswer | undefined;
  /** An earlier call may have cut the snapshots. */
  mayExist: boolean;
  pauseMs: number;
}

export interface GroupCutArguments {
  name: string;
  sourceVolumeIds: string[];
  parameters: Record<string, string>;
  secret?: SecretRef;
}

/** A group that exists: its id, those of its members, and the secret that opens it. */
export interface GroupTarget {
  groupSnapshotId: string;
  snapshotIds: string[];
  secret?: SecretRef;
}

export type GroupContentStep =
  | { do: "add-finalizer" }
  /** A CreateVolumeGroupSnapshot call may have an effect from now on. */
  | { do: "mark-being-created" }
  /** It is known which effect it had. */
  | { do: "clear-being-created" }
  | { do: "cut"; arguments: GroupCutArguments }
  | { do: "inspect"; target: GroupTarget }
  | { do: "write-status"; group: CutGroup; fault?: string }
  | { do: "report"; reason: string; message: string }
  | { do: "delete-data"; target: GroupTarget }
  | { do: "release" };

/** The next step for one VolumeGroupSnapshotContent: everything that the driver is called for. */
export function decideGroupContent(view: GroupContentView): GroupContentStep | Rest {
  const { answer, content } = view;
  if (content?.spec.driver !== view.driver) return DONE;
  if (answer?.kind === "cut") {
    const fault = faultOf(content, answer.group);
    return { do: "write-status", group: answer.group, ...(fault === undefined ? {} : { fault }) };
  }
  if (isDeleting(content)) return decideDeletion(view, content);
  if (!hasFinalizer(content, GROUP_CONTENT_FINALIZER)) return { do: "add-finalizer" };
  return content.spec.source.volumeHandles === undefined
    ? decideImported(view, content)
    : decideCut(view, content, content.spec.source.volumeHandles);
}

function decideCut(
  view: GroupContentView,
  content: VolumeGroupSnapshotContent,
  volumeHandles: string[],
): GroupContentStep | Rest {
  const marked = isMarked(content, GROUP_BEING_CREATED);
  const handle = content.status?.volumeGroupSnapshotHandle;
  if (marked && (handle !== undefined || isSettled(view))) return { do: "clear-being-created" };
  const onRecord = isOnRecord(content);
  if (onRecord && content.status?.readyToUse === true) return DONE;
  if (view.pauseMs > 0) return { do: "wait", ms: view.pauseMs };
  if (handle !== undefined && onRecord)
    return { do: "inspect", target: target(handle, memberIds(content), groupGetSecret(content)) };
  const wanted = cutArguments(view, content, volumeHandles);
  if ("error" in wanted)
    return { do: "report", reason: "GroupSnapshotCreationFailed", message: wanted.error };
  // With the handle on record a repetition is a question, not a risk.
  if (!marked && handle === undefined) return { do: "mark-being-created" };
  return { do: "cut", arguments: wanted };
}

function decideImported(
  view: GroupContentView,
  content: VolumeGroupSnapshotContent,
): GroupContentStep | Rest {
  const handles = content.spec.source.groupSnapshotHandles;
  if (handles === undefined || (content.status?.readyToUse === true && isOnRecord(content))) return DONE;
  if (view.pauseMs > 0) return { do: "wait", ms: view.pauseMs };
  const { volumeGroupSnapshotHandle, volumeSnapshotHandles } = handles;
  return {
    do: "inspect",
    target: target(volumeGroupSnapshotHandle, volumeSnapshotHandles, groupGetSecret(content)),
  };
}

/**
 * A group is deleted on storage only when its VolumeGroupSnapshot is being deleted, or when it never was bound. While
 * a create call is uncertain it is repeated first: only its answer says what there is to delete.
 */
function decideDeletion(
  view: GroupContentView,
  content: VolumeGroupSnapshotContent,
): GroupContentStep | Rest {
  const { answer, pauseMs } = view;
  const { groupSnapshotHandles, volumeHandles } = content.spec.source;
  const handle = content.status?.volumeGroupSnapshotHandle ?? groupSnapshotHandles?.volumeGroupSnapshotHandle;
  if (isMarked(content, GROUP_BEING_CREATED) && volumeHandles !== undefined) {
    if (handle !== undefined || isSettled(view)) return { do: "clear-being-created" };
    if (pauseMs > 0) return { do: "wait", ms: pauseMs };
    return repetition(view, content);
  }
  const neverBound = groupSnapshotHandles !== undefined && !content.spec.volumeGroupSnapshotRef.uid;
  if (!neverBound && !isMarked(content, GROUP_BEING_DELETED)) return DONE;
  if (content.spec.deletionPolicy === "Delete" && handle !== undefined && answer?.kind !== "removed") {
    if (pauseMs > 0) return { do: "wait", ms: pauseMs };
    const ids = memberIds(content);
    const unknown = ids.length === 0 && content.status?.volumeSnapshotInfoList === undefined;
    // A driver is not told to delete nothing: it is asked first which members it has.
    return unknown && volumeHandles !== undefined
      ? repetition(view, content)
      : { do: "delete-data", target: target(handle, ids, groupSecret(content)) };
  }
  return hasFinalizer(content, GROUP_CONTENT_FINALIZER) ? { do: "release" } : DONE;
}

/** The call that made the group once more, which answers with what it made. */
function repetition(view: GroupContentView, content: VolumeGroupSnapshotContent): GroupContentStep {
  const wanted = cutArguments(view, content, content.spec.source.volumeHandles ?? []);
  return "error" in wanted
    ? { do: "report", reason: "GroupSnapshotDeleteError", message: wanted.error }
    : { do: "cut", arguments: wanted };
}

const isMarked = (content: VolumeGroupSnapshotContent, annotation: string): boolean =>
  content.metadata.annotations?.[annotation] !== undefined;

const isSettled = ({ answer, mayExist }: GroupContentView): boolean =>
  answer?.kind === "failed" && provesNoGroupMade(answer.failure, mayExist);

function target(groupSnapshotId: string, snapshotIds: string[], secret: SecretRef | undefined): GroupTarget {
  return { groupSnapshotId, snapshotIds, ...(secret === undefined ? {} : { secret }) };
}

/** What the driver said once, else what the content was made for. Clients of v1beta1 leave only the pairs. */
function memberIds({ spec, status }: VolumeGroupSnapshotContent): string[] {
  const { volumeSnapshotInfoList: infos = [], volumeSnapshotHandlePairList: pairs = [] } = status ?? {};
  const lists = [infos, pairs].map((list) => list.flatMap(({ snapshotHandle }) => snapshotHandle || []));
  const known = lists.find((ids) => ids.length > 0);
  return known ?? spec.source.groupSnapshotHandles?.volumeSnapshotHandles ?? [];
}

function cutArguments(
  { groupClass, namePrefix }: GroupContentView,
  content: VolumeGroupSnapshotContent,
  sourceVolumeIds: string[],
): GroupCutArguments | { error: string } {
  const { metadata, spec } = content;
  const secret = groupSecret(content);
  const name = `${namePrefix}-${spec.volumeGroupSnapshotRef.uid}`;
  const rest = { name, sourceVolumeIds, ...(secret === undefined ? {} : { secret }) };
  const frozen = metadata.annotations?.[FROZEN_GROUP_PARAMETERS];
  if (frozen !== undefined) return { ...rest, parameters: JSON.parse(frozen) as Record<string, string> };
  if (groupClass === undefined)
    return { error: `volumegroupsnapshotclass ${spec.volumeGroupSnapshotClassName ?? ""} does not exist` };
  try {
    return { ...rest, parameters: groupParameters(groupClass.parameters ?? {}) };
  } catch (error) {
    if (error instanceof TemplateError) return { error: error.message };
    throw error;
  }
}

/** What a pause after a failure is about. */
export function groupContentRequestKey({ content, groupClass }: GroupContentView): string {
  if (content === undefined) return "";
  const { metadata, spec, status } = content;
  const parameters = metadata.annotations?.[FROZEN_GROUP_PARAMETERS] ?? groupClass?.parameters;
  const phase = [
    metadata.deletionTimestamp,
    isMarked(content, GROUP_BEING_DELETED),
    status?.volumeGroupSnapshotHandle,
  ];
  return JSON.stringify([spec, groupSecret(content), groupGetSecret(content), parameters, phase]);
}
