import type { Pod } from "@mooring/store";
import { containerID } from "./container-id.ts";
import type { PodContext } from "./context.ts";
import type { ContainerView } from "./pod-view.ts";
import { hasProbes } from "./prober.ts";

/** True when a container that runs is not probed, or one that does not run any more still is. */
export function areProbesDue({ prober }: PodContext, { spec, latest, previous }: ContainerView): boolean {
  if (previous !== undefined && prober.isProbing(previous.id)) return true;
  if (latest === undefined) return false;
  return prober.isProbing(latest.id) !== (latest.state === "running" && hasProbes(spec));
}

/** Begins the probes of running containers, and ends those of containers that have ended. */
export function keepProbing(context: PodContext, pod: Pod, { spec, latest, previous }: ContainerView): void {
  const { prober, runtime, node, signal } = context;
  if (previous !== undefined) prober.end(previous.id);
  if (latest === undefined) return;
  // What stands for a pod whose object is gone has no probes any more.
  if (latest.state !== "running" || !hasProbes(spec)) {
    prober.end(latest.id);
    return;
  }
  const id = containerID(pod, spec.name, latest.attempt);
  prober.ensure(latest.id, spec, Date.parse(latest.startedAt ?? latest.createdAt), {
    host: node.address,
    ports: spec.ports ?? [],
    exec: (argv, timeoutMs) => runtime.exec(id, argv, { timeoutMs, signal }),
  });
}
