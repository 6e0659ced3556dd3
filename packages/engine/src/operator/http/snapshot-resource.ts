import { JOB_UID_LABEL } from "../../api/names.ts";
import type { Snapshot } from "../../api/snapshot.ts";
import { snapshotLabelsOf, snapshotNameOf } from "../snapshots.ts";
import type { SnapshotResource } from "./resources.ts";

/** A Snapshot in the form that clients of this API expect. */
export function snapshotResource(snapshot: Snapshot): SnapshotResource {
  const { metadata, spec, status } = snapshot;
  const name = snapshotNameOf(snapshot);
  return {
    id: name,
    type: "snapshotCR",
    name,
    object: metadata.name,
    volume: spec.volume,
    crCreationTime: metadata.creationTimestamp ?? "",
    markRemoved: metadata.deletionTimestamp !== undefined,
    userCreated: metadata.labels?.[JOB_UID_LABEL] === undefined,
    creationTime: status?.creationTime ?? "",
    size: status?.restoreSize ?? 0,
    restoreSize: status?.restoreSize ?? 0,
    labels: snapshotLabelsOf(snapshot),
    ownerID: status?.ownerID ?? "",
    error: status?.error === undefined ? "" : `${status.error.code}: ${status.error.message}`,
    readyToUse: status?.readyToUse === true,
  };
}
