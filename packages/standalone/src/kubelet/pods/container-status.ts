import type { Pod } from "@mooring/store";
import { defined } from "@mooring/store";
import type { ContainerStatus as Attempt } from "../../runtime/index.ts";
import { restartDelayMs, waitBeforeRestart } from "./back-off.ts";
import { type ContainerView, outcomeOf, type PodView, restarts } from "./pod-view.ts";

type ContainerStatus = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number];
type State = NonNullable<ContainerStatus["state"]>;

/** Of termination messages, in all containers of a pod together: as in Kubernetes, each has an equal share of it. */
const MESSAGES_BYTES = 12 * 1024;

/** One container as the API shows it. */
export function containerStatus(view: PodView, each: ContainerView): ContainerStatus {
  const { spec, role, latest, previous, probes } = each;
  const known = recorded(view.pod, spec.name);
  // Its record was removed with the pod's other things; what was reported about it before is still true.
  if (latest === undefined && known?.state?.terminated !== undefined)
    return { ...known, ready: false, started: false };
  const waiting = waitingState(view, each);
  const share = Math.floor(MESSAGES_BYTES / view.containers.length);
  const state: State = waiting ?? (latest === undefined ? {} : stateOf(latest, share));
  const last = waiting !== undefined && latest?.exit !== undefined ? latest : previous;
  const running = latest?.state === "running";
  const done = role === "init" && latest?.exit?.code === 0;
  return {
    name: spec.name,
    image: spec.image ?? "",
    imageID: latest?.imageID ?? "",
    restartCount: latest?.attempt ?? 0,
    ready: done || (running && probes.started && probes.ready),
    started: running && probes.started,
    state,
    lastState: last === undefined ? {} : stateOf(last, share),
    ...(latest === undefined ? {} : { containerID: `mooring://${latest.id}` }),
  };
}

function recorded(pod: Pod, name: string): ContainerStatus | undefined {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  return [...initContainerStatuses, ...containerStatuses].find((status) => status.name === name);
}

function stateOf({ id, startedAt, createdAt, exit }: Attempt, messageBytes: number): State {
  if (exit === undefined) return { running: { startedAt: seconds(startedAt ?? createdAt) } };
  const { code, reason, message, finishedAt, shutdown } = exit;
  return {
    terminated: {
      exitCode: code,
      reason: shutdown ? "Shutdown" : reason,
      ...defined({ message: message === undefined ? undefined : beginOf(message, messageBytes) }),
      startedAt: seconds(startedAt ?? createdAt),
      finishedAt: seconds(finishedAt),
      containerID: `mooring://${id}`,
    },
  };
}

/** As many whole characters as there is room for. */
function beginOf(text: string, bytes: number): string {
  // A character of more than one unit of the text is not split, nor is one of more than a byte.
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}

/** Why it does not run although it should; undefined when it runs, or has ended for good. */
function waitingState(view: PodView, each: ContainerView): State | undefined {
  const { spec, role, latest, startError } = each;
  if (latest?.state === "running") return undefined;
  const over = outcomeOf(view) !== undefined || view.pod.metadata.deletionTimestamp !== undefined;
  if (latest?.state === "exited") {
    if (over || !restarts(each, view.pod)) return undefined;
    if (role === "init" && latest.exit?.code === 0) return undefined;
    const left = waitBeforeRestart(latest, view.now);
    const problem = imageProblem(each) ?? startError;
    return left === 0 && problem === undefined
      ? undefined
      : waiting(problem ?? crashLoop(view.pod, spec.name, latest));
  }
  const unpulled = imageProblem(each);
  if (unpulled !== undefined) return waiting(unpulled);
  if (startError !== undefined) return waiting(startError);
  const initializing = role === "app" && view.containers.some((other) => other.role !== "app");
  return waiting({ reason: initializing && view.volumesReady ? "PodInitializing" : "ContainerCreating" });
}

function imageProblem({ image }: ContainerView): { reason: string; message: string } | undefined {
  if (image?.state !== "failed") return undefined;
  const { reason, message } = image;
  return { reason, message };
}

function crashLoop(pod: Pod, container: string, latest: Attempt): { reason: string; message: string } {
  const { name, namespace, uid } = pod.metadata;
  const delay = `${restartDelayMs(latest) / 1000}s`;
  return {
    reason: "CrashLoopBackOff",
    message: `back-off ${delay} restarting failed container=${container} pod=${name}_${namespace}(${uid})`,
  };
}

function waiting(state: { reason: string; message?: string }): State {
  return { waiting: state };
}

/** The API keeps whole seconds. */
function seconds(time: string): string {
  return `${time.slice(0, 19)}Z`;
}
