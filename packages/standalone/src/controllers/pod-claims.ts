import { defined, type Pod } from "@mooring/store";

type PodVolume = NonNullable<NonNullable<Pod["spec"]>["volumes"]>[number];

/** Name of the claim behind a pod's volume: named, or made for the pod (generic ephemeral volume). */
export function claimNameOf(pod: Pick<Pod, "metadata">, volume: PodVolume): string | undefined {
  if (volume.persistentVolumeClaim !== undefined) return volume.persistentVolumeClaim.claimName;
  if (volume.ephemeral !== undefined) return `${pod.metadata.name}-${volume.name}`;
  return undefined;
}

/** `namespace/name` of every claim that the pod mentions. */
export function claimKeysOf(pod: Pick<Pod, "metadata" | "spec">): string[] {
  const names = (pod.spec?.volumes ?? []).map((volume) => claimNameOf(pod, volume));
  return names.filter((name) => name !== undefined).map((name) => `${pod.metadata.namespace}/${name}`);
}

/** The pod's containers have ended for good. */
export function isFinished(pod: Pick<Pod, "status">): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}

/** Of a pod where it is, what it uses, and whether it has ended: the rest of it changes often. */
export type PlacedPod = Pick<Pod, "metadata" | "spec" | "status">;

/** The same, as a projection for `reader.over`. */
export function placedPod(pod: Pod): PlacedPod {
  const { name, namespace = "", uid = "" } = pod.metadata;
  const { nodeName, volumes = [] } = pod.spec ?? {};
  return {
    metadata: { name, namespace, uid },
    spec: { containers: [], volumes, ...defined({ nodeName }) },
    status: isFinished(pod) ? { phase: pod.status?.phase ?? "" } : {},
  };
}
