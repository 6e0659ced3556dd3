import type { PersistentVolumeClaim } from "@mooring/store";
import { contentNameOf } from "../common/volume-group-names.ts";
import type { Cluster } from "../kube/cluster.ts";
import type { VolumeGroup } from "../kube/volume-group.ts";

/** The content that a group is bound to, or is to be. */
export function contentOf(group: VolumeGroup): string {
  return group.spec.source.volumeGroupContentName ?? contentNameOf(group);
}

/** Whether the volume of a claim is in the group now. */
export function isInGroupOf(cluster: Cluster, group: VolumeGroup): (claim: PersistentVolumeClaim) => boolean {
  // Few groups ever ask.
  let handles: Set<string> | undefined;
  return ({ spec }) => {
    handles ??= new Set(cluster.volumeGroupContents.get(contentOf(group))?.status?.volumeHandles);
    const volume = cluster.volumes.get(spec?.volumeName ?? "");
    return handles.has(volume?.spec?.csi?.volumeHandle ?? "");
  };
}
