import type { Pod } from "@mooring/store";

type PodVolume = NonNullable<NonNullable<Pod["spec"]>["volumes"]>[number];

/** Name of the claim behind a pod's volume: named, or made for the pod (generic ephemeral volume). */
export function claimNameOf(pod: Pod, volume: PodVolume): string | undefined {
  if (volume.persistentVolumeClaim !== undefined) return volume.persistentVolumeClaim.claimName;
  if (volume.ephemeral !== undefined) return `${pod.metadata.name}-${volume.name}`;
  return undefined;
}

/** `namespace/name` of every claim that the pod mentions. */
export function claimKeysOf(pod: Pod): string[] {
  const names = (pod.spec?.volumes ?? []).map((volume) => claimNameOf(pod, volume));
  return names.filter((name) => name !== undefined).map((name) => `${pod.metadata.namespace}/${name}`);
}

/** The pod's containers have ended for good. */
export function isFinished(pod: Pod): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}
