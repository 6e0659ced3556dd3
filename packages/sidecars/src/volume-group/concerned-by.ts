import { keyOf, type PersistentVolumeClaim } from "@mooring/store";
import type { Cluster } from "../kube/cluster.ts";
import type { VolumeGroup, VolumeGroupContent } from "./api.ts";
import { concerns } from "./concerns.ts";
import { lockOf } from "./lock.ts";
import { contentNameOf } from "./names.ts";

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

/** Who has to look again when something has changed: those whose last look has, or whose next look will, see it. */
export function concernedBy(cluster: Cluster) {
  return {
    groupsOf: (claim: PersistentVolumeClaim): string[] =>
      cluster.volumeGroups
        .byIndex("namespace", claim.metadata.namespace ?? "")
        .filter((group) => concerns(group, claim, isInGroupOf(cluster, group)) || names(group, claim))
        .map(keyOf),
    contentsOf: (claim: PersistentVolumeClaim): VolumeGroupContent[] => {
      const uid = lockOf(claim)?.uid;
      return uid === undefined ? [] : cluster.volumeGroupContents.byIndex("groupUid", uid);
    },
    groupsOfContent: ({ metadata, spec }: VolumeGroupContent): string[] => [
      keyOf({ metadata: spec.volumeGroupRef }),
      ...cluster.volumeGroups.byIndex("content", metadata.name).map(keyOf),
    ],
    groupsOfClass: (name: string): string[] =>
      [
        ...cluster.volumeGroups.byIndex("className", name),
        ...cluster.volumeGroups.byIndex("className", ""),
      ].map(keyOf),
  };
}

/** A claim that was there is still listed. */
function names({ status }: VolumeGroup, { metadata }: PersistentVolumeClaim): boolean {
  return status?.members?.some(({ claimName }) => claimName === metadata.name) === true;
}
