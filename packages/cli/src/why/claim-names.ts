import type { Pod } from "@mooring/store";

/** The claims that a pod uses: those that it names, and those that are made for it. */
export function claimNames(pod: Pod): string[] {
  return (pod.spec?.volumes ?? []).flatMap((volume) => {
    if (volume.persistentVolumeClaim !== undefined) return [volume.persistentVolumeClaim.claimName];
    return volume.ephemeral === undefined ? [] : [`${pod.metadata.name}-${volume.name}`];
  });
}
