import type { VolumeGroupSnapshotContent } from "@mooring/store";
import { defined } from "@mooring/store";
import {
  FROZEN_GROUP_PARAMETERS,
  GROUP_BEING_CREATED,
  GROUP_BEING_DELETED,
  GROUP_CONTENT_FINALIZER,
} from "../common/names.ts";
import { type ContentKind, contentFailpoints } from "../content/kind.ts";
import { provesNoGroupMade } from "../csi/codes.ts";
import type { SecretRef } from "../secrets/references.ts";
import { createGroupSnapshot, deleteGroupSnapshot, inspectGroupSnapshot } from "./calls.ts";
import { groupGetSecret, groupParameters, groupSecret } from "./secrets.ts";
import { statusAfter } from "./status.ts";
import { faultOf, isGroupReady, isOnRecord } from "./storage-group.ts";
import type { GroupContentTypes, GroupTarget } from "./types.ts";

/** The kind of VolumeGroupSnapshotContents. */
export const GROUP_CONTENT: ContentKind<GroupContentTypes> = {
  names: {
    controller: "group-snapshot-content",
    finalizer: GROUP_CONTENT_FINALIZER,
    beingCreated: GROUP_BEING_CREATED,
    beingDeleted: GROUP_BEING_DELETED,
    frozenParameters: FROZEN_GROUP_PARAMETERS,
    className: "volumegroupsnapshotclass",
    metadata: "volumegroupsnapshot",
    reasons: {
      creation: "GroupSnapshotCreationFailed",
      inspection: "GroupSnapshotContentCheckandUpdateFailed",
      deletion: "GroupSnapshotDeleteError",
    },
  },
  failpoints: contentFailpoints("group-snapshot-content"),
  cache: ({ groupContents }) => groupContents,
  classes: ({ groupClasses }) => groupClasses,
  className: ({ spec }) => spec.volumeGroupSnapshotClassName,
  ref: ({ spec }) => spec.volumeGroupSnapshotRef,
  isMade: ({ spec }) => spec.source.volumeHandles !== undefined,
  handle: ({ spec, status }) =>
    status?.volumeGroupSnapshotHandle ?? spec.source.groupSnapshotHandles?.volumeGroupSnapshotHandle,
  isComplete: (content) => content.status?.readyToUse === true && isOnRecord(content),
  canInspect: isOnRecord,
  markStays: true,
  lacksMembers: (content) =>
    memberIds(content).length === 0 && content.status?.volumeSnapshotInfoList === undefined,
  fault: faultOf,
  isReady: isGroupReady,
  status: statusAfter,
  parameters: groupParameters,
  request: (content, name, parameters) => ({
    ...{ name, sourceVolumeIds: content.spec.source.volumeHandles ?? [], parameters },
    ...defined({ secret: groupSecret(content) }),
  }),
  secrets: (content) => [groupSecret(content), groupGetSecret(content)],
  inspectTarget: (content) => {
    const { groupSnapshotHandles: imported } = content.spec.source;
    const handle = imported?.volumeGroupSnapshotHandle ?? content.status?.volumeGroupSnapshotHandle ?? "";
    return target(handle, imported?.volumeSnapshotHandles ?? memberIds(content), groupGetSecret(content));
  },
  deleteTarget: (content, handle) => target(handle, memberIds(content), groupSecret(content)),
  provesNothingMade: provesNoGroupMade,
  create: createGroupSnapshot,
  inspect: inspectGroupSnapshot,
  remove: deleteGroupSnapshot,
};

function target(groupSnapshotId: string, snapshotIds: string[], secret: SecretRef | undefined): GroupTarget {
  return { groupSnapshotId, snapshotIds, ...defined({ secret }) };
}

/** What the driver returned once, else what the content was made for. Clients of v1beta1 leave only the pairs. */
function memberIds({ spec, status }: VolumeGroupSnapshotContent): string[] {
  const { volumeSnapshotInfoList: infos = [], volumeSnapshotHandlePairList: pairs = [] } = status ?? {};
  const lists = [infos, pairs].map((list) => list.flatMap(({ snapshotHandle }) => snapshotHandle || []));
  const known = lists.find((ids) => ids.length > 0);
  return known ?? spec.source.groupSnapshotHandles?.volumeSnapshotHandles ?? [];
}
