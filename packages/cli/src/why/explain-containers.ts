import type { Pod } from "@mooring/store";
import { type Finding, finding } from "./finding.ts";

type ContainerStatus = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number];

/** Waiting reasons that pass by themselves. */
const PASSING = new Set(["ContainerCreating", "PodInitializing"]);

/** `exit code 1, Error: no such file`: how a container has ended. */
function ending({ state, lastState }: ContainerStatus): string | undefined {
  const ended = state?.terminated ?? lastState?.terminated;
  if (ended === undefined) return undefined;
  const { exitCode, reason, message, signal } = ended;
  const how = signal ? `signal ${signal}` : `exit code ${exitCode}`;
  // A container that ended by itself has the reasons `Completed` and `Error`, which say no more than its code.
  const why = reason === undefined || reason === "Error" || reason === "Completed" ? "" : `, ${reason}`;
  return `${how}${why}${message === undefined || message === "" ? "" : `: ${message.trim()}`}`;
}

/** One that has crashed again and again counts as crashing until it has run for so long. */
const SETTLED_AFTER_MS = 10 * 60_000;

/** Between two crashes a container seems well. */
function isFlapping({ state, lastState, restartCount = 0 }: ContainerStatus, now: Date): boolean {
  const { exitCode = 0, reason } = lastState?.terminated ?? {};
  // Mooring or the machine was stopped, and the container with it.
  const crashed = exitCode !== 0 && reason !== "Shutdown";
  const since = Date.parse(String(state?.running?.startedAt ?? ""));
  return restartCount > 0 && crashed && now.getTime() - since < SETTLED_AFTER_MS;
}

/** A program that could not be started has written nothing: what to do instead of reading its log. */
function neverBegan({ metadata }: Pod, { state, lastState }: ContainerStatus): string | undefined {
  if ((state?.terminated ?? lastState?.terminated)?.reason !== "StartError") return undefined;
  const { name, namespace = "default" } = metadata;
  return `correct its command or image, and create the pod again: kubectl describe pod -n ${namespace} ${name}`;
}

/** A program that the kernel has ended for its memory has written nothing of it. */
function outOfMemory(
  { metadata, spec }: Pod,
  { name, state, lastState }: ContainerStatus,
): string | undefined {
  if ((state?.terminated ?? lastState?.terminated)?.reason !== "OOMKilled") return undefined;
  const { limits } = spec?.containers?.find((each) => each.name === name)?.resources ?? {};
  const limit = limits?.["memory"] === undefined ? "" : ` (${limits["memory"]} now)`;
  return `let it have more memory, resources.limits.memory of container ${name}${limit}, or let its program take less: kubectl describe pod -n ${metadata.namespace ?? "default"} ${metadata.name}`;
}

function explainContainer(pod: Pod, status: ContainerStatus, isInit: boolean, now: Date): Finding[] {
  const { name, state, ready, restartCount = 0, started } = status;
  const subject = `container ${name}`;
  const { name: podName, namespace = "default" } = pod.metadata;
  const target = `-n ${namespace} ${podName} -c ${name}`;
  const last = ending(status);
  const waiting = state?.waiting;
  if (waiting?.reason === "CrashLoopBackOff") {
    const message = `CrashLoopBackOff: ended ${restartCount} times, the last time with ${last ?? "no status"}`;
    return [
      finding("failed", subject, message, {
        next: neverBegan(pod, status) ?? outOfMemory(pod, status) ?? `kubectl logs ${target} --previous`,
      }),
    ];
  }
  if (waiting?.reason !== undefined && !PASSING.has(waiting.reason)) {
    const message = `${waiting.reason}: ${waiting.message ?? "no message"}`;
    const next = `correct its image, command or references, and create the pod again: kubectl describe pod -n ${namespace} ${podName}`;
    return [finding("failed", subject, message, { next })];
  }
  if (state?.terminated !== undefined && (state.terminated.exitCode !== 0 || last?.startsWith("signal"))) {
    const next = neverBegan(pod, status) ?? outOfMemory(pod, status) ?? `kubectl logs ${target}`;
    return [finding("failed", subject, `ended with ${last}`, { next })];
  }
  if (state?.running !== undefined && isFlapping(status, now)) {
    const message = `crashed ${restartCount} times, the last time with ${last}, and runs again`;
    const next = outOfMemory(pod, status) ?? `kubectl logs ${target} --previous`;
    return [finding("failed", subject, message, { next })];
  }
  if (isInit && state?.running !== undefined && started !== true)
    return [finding("waiting", subject, "init container runs: the others start when it has ended")];
  if (state?.running !== undefined && !ready && !isInit) {
    const probe = started === false ? "startup" : "readiness";
    const next = `kubectl describe pod -n ${namespace} ${podName} (its ${probe} probe), kubectl logs ${target}`;
    return [
      finding("waiting", subject, `runs, but is not ready: its ${probe} probe does not pass`, { next }),
    ];
  }
  return [];
}

/** Containers that are not as they should be: crashing, not started, ended with an error, not ready. */
export function explainContainers(pod: Pod, now: Date): Finding[] {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  return [
    ...initContainerStatuses.flatMap((status) => explainContainer(pod, status, true, now)),
    ...containerStatuses.flatMap((status) => explainContainer(pod, status, false, now)),
  ];
}
