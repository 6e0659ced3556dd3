import type { Pod } from "@mooring/store";
import { type ClaimCaches, type CsiVolume, type PodVolume, type Problem, traceClaim } from "./csi-volume.ts";
import { traceInline } from "./inline-volume.ts";

/** Undefined when the volume is none of a CSI driver. */
export function traceVolume(
  view: ClaimCaches,
  pod: Pod,
  podVolume: PodVolume,
): CsiVolume | Problem | undefined {
  return traceInline(pod, podVolume) ?? traceClaim(view, pod, podVolume);
}
