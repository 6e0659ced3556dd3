import { isOutcome, msLeft, type Outcome, wait } from "@mooring/store";
import { waitBeforeRestart } from "./back-off.ts";
import { type ContainerView, deadlineOf, outcomeOf, type PodView, restarts } from "./pod-view.ts";

/** One step for a pod of this node. */
export type PodStep =
  /** Ask for the pod's volumes, and wait until they are there. */
  | { do: "mount-volumes" }
  | { do: "start"; container: string; attempt: number }
  /** SIGTERM, then SIGKILL after the grace period. */
  | { do: "stop"; containers: string[]; graceSeconds: number; why: string }
  | { do: "release-volumes" }
  | { do: "remove-folder" }
  | { do: "remove-containers" }
  | { do: "delete-object" };

/** A step for a pod, or for what is around it. */
export type ActivePodStep =
  | PodStep
  | { do: "report-status" }
  /** Begins probes of what runs, and ends those of what does not any more. */
  | { do: "update-probes" };

/** What was found to be out of date around a pod, next to the pod itself. */
export interface PodDue {
  mount: boolean;
  status: boolean;
  probes: boolean;
  /** Its volumes were released, and the volume manager is still at it. */
  releasing: boolean;
}

/** As {@link decidePod}, and first what its object and its volumes are to show. */
export function decideStep(view: PodView, due: PodDue): ActivePodStep | Outcome {
  if (due.probes) return { do: "update-probes" };
  if (due.mount) return { do: "mount-volumes" };
  const step = decidePod(view);
  // A start has the status written meanwhile: the write does not wait for what is about to change.
  if (due.status && step.do !== "start") return { do: "report-status" };
  // The volume manager reports when there is news of them.
  if (step.do === "mount-volumes" || (step.do === "release-volumes" && due.releasing)) return wait();
  return step;
}

/** A timer may come a little before the time of the clock that is read. */
const TIMER_MS = 10;
const DEFAULT_GRACE_SECONDS = 30;
/** The kubelet's reason for pods that use what is not theirs. */
const EVICTION_GRACE_SECONDS = 1;

/** The next step for one pod on this node. */
export function decidePod(view: PodView): PodStep | Outcome {
  const deleting = view.pod.metadata.deletionTimestamp !== undefined;
  if (deleting || outcomeOf(view) !== undefined) return decideEnding(view, deleting);
  if (!view.volumesReady) return { do: "mount-volumes" };
  return decideUnhealthy(view) ?? decideInit(view) ?? decideApps(view);
}

/** Nothing that a later step needs is taken away by an earlier one: processes, volumes, folder, records, object. */
function decideEnding(view: PodView, deleting: boolean): PodStep | Outcome {
  const running = view.containers.filter(isRunning);
  if (running.length > 0) {
    const apps = running.filter(({ role }) => role !== "sidecar");
    const first = apps.length > 0 ? apps : running;
    if (view.evicted !== undefined) return stop(first, evictionGrace(view), "the pod is evicted");
    return stop(first, graceSeconds(view), deleting ? "the pod is being deleted" : "the pod has ended");
  }
  if (view.volumesInUse) return { do: "release-volumes" };
  if (view.onDisk) return { do: "remove-folder" };
  if (!deleting) return wait();
  if (view.containers.some(({ latest }) => latest !== undefined)) return { do: "remove-containers" };
  return isReleased(view) ? wait() : { do: "delete-object" };
}

/** Deleted already as far as this node goes: the object stays for another controller's finalizer. */
function isReleased({ pod: { metadata } }: PodView): boolean {
  return metadata.deletionGracePeriodSeconds === 0 && (metadata.finalizers ?? []).length > 0;
}

/** The grace period for which the delete asked; else the pod's own. */
function graceSeconds({ pod }: PodView): number {
  return (
    pod.metadata.deletionGracePeriodSeconds ??
    pod.spec?.terminationGracePeriodSeconds ??
    DEFAULT_GRACE_SECONDS
  );
}

function evictionGrace(view: PodView): number {
  return Math.min(EVICTION_GRACE_SECONDS, graceSeconds(view));
}

function stop(containers: readonly ContainerView[], graceSeconds: number, why: string): PodStep {
  return { do: "stop", containers: containers.map(({ spec }) => spec.name), graceSeconds, why };
}

function decideUnhealthy(view: PodView): PodStep | undefined {
  const unhealthy = view.containers.find((each) => isRunning(each) && each.probes.unhealthy !== undefined);
  if (unhealthy === undefined) return undefined;
  return stop([unhealthy], graceSeconds(view), unhealthy.probes.unhealthy ?? "");
}

/** Init containers one after the other; a sidecar counts as done when it has started. */
function decideInit(view: PodView): PodStep | Outcome | undefined {
  // Once an app container was started all of them had ended well; they do not run again.
  const begun = view.containers.some(({ role, latest }) => role === "app" && latest !== undefined);
  for (const each of view.containers.filter(({ role }) => role !== "app")) {
    if (each.role === "init" && begun) continue;
    if (each.role === "init" && each.latest?.exit?.code === 0) continue;
    if (each.role === "sidecar" && isRunning(each) && (begun || each.probes.started)) continue;
    const step = startOrWait(view, each);
    // A sidecar that crashed later delays no other container.
    if (begun && isOutcome(step)) continue;
    return step;
  }
  return undefined;
}

function decideApps(view: PodView): PodStep | Outcome {
  const waits: number[] = [];
  for (const each of view.containers) {
    if (each.role === "init" || isRunning(each)) continue;
    if (each.latest?.state === "exited" && !restarts(each, view.pod)) continue;
    const step = startOrWait(view, each);
    if (step.do !== "wait") return step;
    if (step.afterMs !== undefined) waits.push(step.afterMs);
  }
  const deadline = deadlineOf(view.pod);
  if (deadline !== undefined) waits.push(Math.max(0, deadline - view.now) + TIMER_MS);
  return wait(Math.min(...waits));
}

function startOrWait(
  view: PodView,
  { spec, latest, image }: ContainerView,
): Extract<PodStep, { do: "start" }> | ReturnType<typeof wait> {
  if (latest !== undefined && latest.state !== "exited") return wait();
  const crashed = latest === undefined ? 0 : waitBeforeRestart(latest, view.now);
  const pulled = image?.state === "failed" ? msLeft({ ...image, now: view.now }) : 0;
  const milliseconds = Math.max(crashed, pulled);
  if (milliseconds > 0) return wait(milliseconds + TIMER_MS);
  // The puller reports when that has ended.
  if (image?.state === "pulling") return wait();
  if (latest === undefined) return { do: "start", container: spec.name, attempt: 0 };
  return { do: "start", container: spec.name, attempt: latest.attempt + 1 };
}

/** True while the newest attempt of the container runs. */
export function isRunning({ latest }: Pick<ContainerView, "latest">): boolean {
  return latest !== undefined && latest.state !== "exited";
}
