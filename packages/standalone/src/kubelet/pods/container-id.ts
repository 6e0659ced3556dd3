import type { Pod } from "@mooring/store";

/** Begins with the pod's uid. */
export function containerID(pod: Pod, container: string, attempt: number): string {
  return `${pod.metadata.uid}_${container}_${attempt}`;
}
