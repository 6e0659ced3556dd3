import type { PodContext } from "./context.ts";
import type { PodStep } from "./decide.ts";
import { runPreStop } from "./hooks.ts";
import type { ContainerView } from "./pod-view.ts";
import type { SeenPod } from "./read.ts";

type StopStep = Extract<PodStep, { do: "stop" }>;

/** Ends containers side by side, each within the same grace period. */
export async function stopContainers(context: PodContext, seen: SeenPod, step: StopStep): Promise<void> {
  const { pod, containers } = seen.podView;
  const targets = containers.filter(({ spec }) => step.containers.includes(spec.name));
  if (!seen.orphaned) {
    for (const { spec } of targets)
      context.events.event(pod, "Normal", "Killing", `Stopping container ${spec.name}: ${step.why}`);
  }
  const hurry = hurried(context, pod.metadata.uid ?? "", step.graceSeconds);
  try {
    await Promise.all(
      targets.map((each) => stopContainer(context, each, step.graceSeconds * 1000, hurry.signal)),
    );
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
  const end = view.pods.onChange((old, current) => {
    if ((current ?? old)?.metadata.uid !== uid) return;
    const shorter = (current?.metadata.deletionGracePeriodSeconds ?? graceSeconds) < graceSeconds;
    if (current === undefined || shorter) hurry.abort();
  });
  return { signal: hurry.signal, end };
}
