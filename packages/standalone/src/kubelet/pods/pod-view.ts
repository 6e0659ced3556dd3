import type { Pod } from "@mooring/store";
import type { ContainerStatus } from "../../runtime/index.ts";
import type { Container } from "./field-ref.ts";
import type { Rejection } from "./rejection.ts";

type ContainerRole = "init" | "sidecar" | "app";

/** What probes say about a running container. */
export interface ProbeResults {
  /** The startup probe has succeeded, or there is none. */
  started: boolean;
  /** The readiness probe succeeds, or there is none. */
  ready: boolean;
  /** The liveness or startup probe has given up on it. */
  unhealthy?: string;
}

/** An image that a container cannot start from yet. */
export type ImageView =
  | { state: "pulling" }
  /** Pulled again `forMs` milliseconds after `since`, in milliseconds since 1970. */
  | { state: "failed"; reason: string; message: string; since: number; forMs: number };

/** A container of a pod, and what has become of it. */
export interface ContainerView {
  spec: Container;
  role: ContainerRole;
  /** The newest attempt, and the one before. */
  latest: ContainerStatus | undefined;
  previous: ContainerStatus | undefined;
  probes: ProbeResults;
  /** Why the last try to start it failed before anything ran. */
  startError?: { reason: string; message: string };
  /** The image of the next attempt. */
  image?: ImageView;
}

/** All that is decided upon about one pod. */
export interface PodView {
  pod: Pod;
  containers: readonly ContainerView[];
  /** Every volume is where the containers will find it. */
  volumesReady: boolean;
  /** Something of the pod's volumes may still be there. */
  volumesInUse: boolean;
  /** The pod's folder exists. */
  onDisk: boolean;
  /** Milliseconds since 1970. */
  now: number;
  /** Why it has to leave the node for good. */
  evicted?: string;
  /** Which of its volumes are not mounted any more, although they are published. */
  unmounted?: string;
  /** Why it does not come to this node; it has not begun. */
  rejected?: Rejection;
}

/** The containers of a pod in the order in which they start. */
export function rolesOf(pod: Pod): { spec: Container; role: ContainerRole }[] {
  const init = (pod.spec?.initContainers ?? []).map((spec) => ({
    spec,
    role: spec.restartPolicy === "Always" ? ("sidecar" as const) : ("init" as const),
  }));
  return [...init, ...(pod.spec?.containers ?? []).map((spec) => ({ spec, role: "app" as const }))];
}

/** When the pod's activeDeadlineSeconds end, in milliseconds since 1970. */
export function deadlineOf(pod: Pod): number | undefined {
  const seconds = pod.spec?.activeDeadlineSeconds;
  const start = pod.status?.startTime;
  return seconds === undefined || start === undefined ? undefined : Date.parse(start) + seconds * 1000;
}

/** How it ends; undefined while it can go on. A phase that was reported once stays. */
export function outcomeOf(view: PodView): "Succeeded" | "Failed" | undefined {
  const { pod, containers } = view;
  const phase = pod.status?.phase;
  if (phase === "Succeeded" || phase === "Failed") return phase;
  const deadline = deadlineOf(pod);
  if (view.rejected !== undefined) return "Failed";
  if (view.evicted !== undefined || (deadline !== undefined && view.now >= deadline)) return "Failed";
  const failedInit = containers.some(
    (each) => each.role === "init" && (each.latest?.exit?.code ?? 0) !== 0 && !restarts(each, pod),
  );
  if (failedInit) return "Failed";
  const apps = containers.filter(({ role }) => role === "app");
  if (!apps.every((each) => each.latest?.state === "exited" && !restarts(each, pod))) return undefined;
  return apps.every((each) => each.latest?.exit?.code === 0) ? "Succeeded" : "Failed";
}

/** An ended container is to be started again. */
export function restarts({ role, latest }: Pick<ContainerView, "role" | "latest">, pod: Pod): boolean {
  const policy = pod.spec?.restartPolicy ?? "Always";
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  if (role === "sidecar") return true;
  if (policy === "Never") return false;
  const failed = (latest?.exit?.code ?? 0) !== 0;
  return role === "init" ? failed : policy === "Always" || failed;
}
