import type { VolumeSnapshotContent } from "@mooring/store";
import { defined } from "@mooring/store";
import { isMemberContent } from "../common/group-member.ts";
import {
  BEING_CREATED,
  BEING_DELETED,
  CONTENT_FINALIZER,
  FROZEN_PARAMETERS,
  SNAPSHOT_SECRET_NAME,
  SNAPSHOT_SECRET_NAMESPACE,
} from "../common/names.ts";
import { type ContentKind, contentFailpoints } from "../content/kind.ts";
import { isUncertain, provesNothingMade } from "../csi/codes.ts";
import {
  type SecretRef,
  SNAPSHOT_CLASS_ROLES,
  secretReference,
  snapshotClassTokens,
} from "../secrets/references.ts";
import { snapshotParameters } from "../snapshot/content-for.ts";
import { createSnapshot, inspectSnapshot } from "./calls.ts";
import type { SnapshotContentTypes } from "./types.ts";

/** The kind of VolumeSnapshotContents. */
export const SNAPSHOT_CONTENT: ContentKind<SnapshotContentTypes> = {
  names: {
    controller: "snapshot-content",
    finalizer: CONTENT_FINALIZER,
    beingCreated: BEING_CREATED,
    beingDeleted: BEING_DELETED,
    frozenParameters: FROZEN_PARAMETERS,
    className: "volumesnapshotclass",
    metadata: "volumesnapshot",
    reasons: {
      creation: "SnapshotCreationFailed",
      inspection: "SnapshotContentCheckandUpdateFailed",
      deletion: "SnapshotDeleteError",
    },
  },
  failpoints: contentFailpoints("snapshot-content"),
  cache: ({ contents }) => contents,
  classes: ({ snapshotClasses }) => snapshotClasses,
  className: ({ spec }) => spec.volumeSnapshotClassName,
  ref: ({ spec }) => spec.volumeSnapshotRef,
  // Members of a group live and die with it.
  isForeign: isMemberContent,
  isMade: ({ spec }) => spec.source.volumeHandle !== undefined,
  handle: ({ spec, status }) => status?.snapshotHandle ?? spec.source.snapshotHandle,
  isComplete: ({ spec, status }) =>
    status?.readyToUse === true &&
    (spec.source.volumeHandle === undefined || status.snapshotHandle !== undefined),
  canInspect: () => false,
  isReady: ({ ready }) => ready,
  status: ({ status }, data) => ({
    snapshotHandle: data.handle,
    readyToUse: data.ready,
    creationTime: status?.creationTime ?? data.creationTime,
    ...defined({ restoreSize: status?.restoreSize ?? (data.sizeBytes > 0 ? data.sizeBytes : undefined) }),
  }),
  parameters: snapshotParameters,
  request: (content, name, parameters) => ({
    ...{ name, sourceVolumeId: content.spec.source.volumeHandle ?? "", parameters },
    ...defined({ secret: secretOf(content) }),
  }),
  secrets: secretOf,
  inspectTarget: ({ metadata, spec }, contentClass) => ({
    handle: spec.source.snapshotHandle ?? "",
    ...defined({
      secret: secretReference(
        SNAPSHOT_CLASS_ROLES.list,
        contentClass?.parameters ?? {},
        snapshotClassTokens(metadata.name),
      ),
    }),
  }),
  deleteTarget: (content, handle) => ({ handle, ...defined({ secret: secretOf(content) }) }),
  provesNothingMade: (failure, mayExist) => provesNothingMade(failure, isUncertain(failure), mayExist),
  create: createSnapshot,
  inspect: inspectSnapshot,
  remove: async ({ client, options, secrets }, { handle }) => {
    await client.controller.deleteSnapshot({ snapshotId: handle, secrets }, options);
  },
};

/** The secret for creating and deleting, as the content's annotations keep it. */
function secretOf({ metadata: { annotations = {} } }: VolumeSnapshotContent): SecretRef | undefined {
  const [name, namespace] = [annotations[SNAPSHOT_SECRET_NAME], annotations[SNAPSHOT_SECRET_NAMESPACE]];
  return name && namespace ? { name, namespace } : undefined;
}
