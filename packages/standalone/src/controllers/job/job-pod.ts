import { defined, isDeleting, type ObjectKey, type Pod } from "@mooring/store";
import { COMPLETION_INDEX, controllerOf, isTracked } from "../job-pods.ts";

/** What a Job reads of one of its pods. */
export interface JobPod {
  key: ObjectKey;
  uid: string;
  /** UID of its controller. */
  owner: string | undefined;
  /** Which part of an Indexed Job it does. */
  index?: number;
  state: "active" | "succeeded" | "failed" | "terminating" | "abandoned";
  /** It has the finalizer: it is not counted yet, or has not been released. */
  tracked: boolean;
  ready: boolean;
  /** A node has been found for it. */
  placed: boolean;
  /** Of all containers, while the pod goes on. */
  restarts: number;
  /** Milliseconds since the epoch. */
  createdMs: number;
  /** When it came to its end, or was asked to. */
  endedMs?: number;
}

/** A projection for `reader.over`: the rest of a pod changes often. */
export function jobPod(pod: Pod): JobPod {
  const { name, namespace = "", uid = "", annotations, creationTimestamp = "" } = pod.metadata;
  const state = stateOf(pod);
  const index = annotations?.[COMPLETION_INDEX];
  const conditions = pod.status?.conditions ?? [];
  return {
    key: { namespace, name },
    uid,
    owner: controllerOf(pod)?.uid,
    state,
    tracked: isTracked(pod),
    ready: conditions.some(({ type, status }) => type === "Ready" && status === "True"),
    placed: Boolean(pod.spec?.nodeName),
    restarts: restartsOf(pod),
    createdMs: Date.parse(creationTimestamp),
    ...defined({
      index: index !== undefined && /^\d{1,9}$/.test(index) ? Number(index) : undefined,
      endedMs: state === "active" ? undefined : endOf(pod),
    }),
  };
}

function stateOf(pod: Pod): JobPod["state"] {
  if (pod.status?.phase === "Succeeded") return "succeeded";
  if (pod.status?.phase === "Failed") return "failed";
  if (!isDeleting(pod)) return "active";
  // No kubelet has it (any more), so none will report how it ended.
  return pod.metadata.deletionGracePeriodSeconds === 0 ? "abandoned" : "terminating";
}

function statusesOf({ status }: Pod) {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

function restartsOf(pod: Pod): number {
  return statusesOf(pod).reduce((sum, { restartCount }) => sum + restartCount, 0);
}

function endOf(pod: Pod): number {
  const ends = statusesOf(pod).flatMap(({ state }) => state?.terminated?.finishedAt ?? []);
  if (ends.length > 0) return Math.max(...ends.map((time) => Date.parse(time)));
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, creationTimestamp = "" } = pod.metadata;
  if (deletionTimestamp !== undefined)
    return Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  const changes = (pod.status?.conditions ?? []).flatMap(
    ({ lastTransitionTime }) => lastTransitionTime ?? [],
  );
  return Math.max(...[creationTimestamp, ...changes].map((time) => Date.parse(time)));
}
