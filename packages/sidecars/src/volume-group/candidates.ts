import { keyOf, type LabelRequirement, type PersistentVolumeClaim } from "@mooring/store";
import type { Cluster } from "../kube/cluster.ts";
import type { VolumeGroup } from "../kube/volume-group.ts";
import { contentOf, isInGroupOf } from "./in-group.ts";
import { isRead, requirementsOf, takesWhatIsThere } from "./selection.ts";

/**
 * The claims that a read of the group reads. They come from indexes, not from everything in the namespace: a namespace of
 * a thousand claims and sixty groups would otherwise be gone through for each step of each group.
 */
export function claimsOf(cluster: Cluster, group: VolumeGroup): PersistentVolumeClaim[] {
  const { name, namespace = "", uid = "" } = group.metadata;
  const { claims } = cluster;
  const named = group.spec.source.claimNames ?? [];
  const isInGroup = isInGroupOf(cluster, group);
  const possible = [
    ...claims.byIndex("volumeGroup", uid),
    ...claims.byIndex("wantedGroup", `${namespace}/${name}`),
    ...named.flatMap((claim) => claims.get(keyOf({ metadata: { name: claim, namespace } })) ?? []),
    ...selectable(cluster, namespace, requirementsOf(group)),
    ...(takesWhatIsThere(group) ? stored(cluster, group) : []),
  ];
  const byName = new Map(possible.map((claim) => [claim.metadata.name, claim]));
  return [...byName.values()].filter((claim) => isRead(group, claim, isInGroup));
}

/** Claims that one condition of a selector leaves, the others not asked yet; the most selective one that an index has. */
function selectable(
  { claims }: Cluster,
  namespace: string,
  requirements: ReturnType<typeof requirementsOf>,
): PersistentVolumeClaim[] {
  if (!Array.isArray(requirements) || requirements.length === 0) return [];
  const is = (operator: LabelRequirement["operator"]) =>
    requirements.find((requirement) => requirement.operator === operator);
  const among = is("In");
  if (among !== undefined)
    return among.values.flatMap((value) => claims.byIndex("label", `${namespace}/${among.key}=${value}`));
  const has = is("Exists");
  return has === undefined
    ? claims.byIndex("namespace", namespace)
    : claims.byIndex("labelKey", `${namespace}/${has.key}`);
}

/** Claims whose volumes are in the group. */
function stored(cluster: Cluster, group: VolumeGroup): PersistentVolumeClaim[] {
  const content = cluster.volumeGroupContents.get(contentOf(group));
  return (content?.status?.volumeHandles ?? [])
    .flatMap((handle) => cluster.volumes.byIndex("handle", `${content?.spec.driver}:${handle}`))
    .flatMap(({ spec }) => {
      const { name = "", namespace = "" } = spec?.claimRef ?? {};
      return cluster.claims.get(keyOf({ metadata: { name, namespace } })) ?? [];
    });
}
