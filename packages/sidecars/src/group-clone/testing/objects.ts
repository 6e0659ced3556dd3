import { apiVersionOf } from "@mooring/store";
import { type VolumeGroupClone, VolumeGroupClones } from "../../kube/group-clone.ts";

/** A clone `copy` of the VolumeGroup `db`, for tests. */
export function groupClone(spec: Partial<VolumeGroupClone["spec"]> = {}): VolumeGroupClone {
  return {
    apiVersion: apiVersionOf(VolumeGroupClones),
    kind: "VolumeGroupClone",
    metadata: { name: "copy", namespace: "default" },
    spec: { source: { volumeGroupName: "db" }, volumeGroupSnapshotClassName: "groups", ...spec },
  };
}
