import { orAborted, type Pod } from "@mooring/store";
import type { PodContext } from "./context.ts";
import type { PodStep } from "./decide.ts";
import { runPreStop } from "./hooks.ts";
import type { ContainerView } from "./pod-view.ts";
import type { SeenPod } from "./read.ts";

type StopStep = Extract<PodStep, { do: "stop" }>;

/**
 * Ends containers side by side, each within the same grace period. A pod may ask for years of it: a kubelet that ends itself does
 * not wait, and ends what is left then (`stopPods`).
 */
export async function stopContainers(context: PodContext, seen: SeenPod, step: StopStep): Promise<void> {
  const { pod, containers } = seen.podView;
  const targets = containers.filter(({ spec }) => step.containers.includes(spec.name));
  if (!seen.orphaned) {
    for (const { spec } of targets)
      context.events.event(pod, "Normal", "Killing", `Stopping container ${spec.name}: ${step.why}`);
  }
  const hurry = hurried(context, pod.metadata.uid ?? "", step.graceSeconds);
  try {
    const stops = targets.map((each) => stopContainer(context, each, step.graceSeconds * 1000, hurry.signal));
    await orAborted(Promise.all(stops), context.signal);
  } finally {
    hurry.end();
  }
}

async function stopContainer(
  { runtime, prober }: PodContext,
  { spec, latest }: ContainerView,
  graceMs: number,
  hurry: AbortSignal,
): Promise<void> {
  if (latest === undefined) return;
  prober.end(latest.id);
  const until = performance.now() + graceMs;
  await runPreStop(runtime, { container: spec, id: latest.id }, graceMs, hurry);
  await runtime.stop(latest.id, { graceMs: Math.max(0, until - performance.now()), signal: hurry });
}

/** Aborts when a user has lost patience: has deleted the pod again with a shorter grace period, or for good. */
function hurried(
  { view }: PodContext,
  uid: string,
  graceSeconds: number,
): { signal: AbortSignal; end: () => void } {
  const hurry = new AbortController();
  const abortIfShorter = (pod: Pod | undefined) => {
    const shorter = (pod?.metadata.deletionGracePeriodSeconds ?? graceSeconds) < graceSeconds;
    if (pod === undefined || shorter) hurry.abort();
  };
  const end = view.pods.onChange((old, current) => {
    if ((current ?? old)?.metadata.uid === uid) abortIfShorter(current);
  });
  // Since the pod was read it may have been deleted.
  const [pod] = view.pods.byIndex("uid", uid);
  if (pod !== undefined) abortIfShorter(pod);
  return { signal: hurry.signal, end };
}
