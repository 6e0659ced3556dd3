import type { UnstructuredObject } from "@mooring/store";
import { age } from "../../kinds/age.ts";
import { dig, digList, digText } from "../../kinds/builtin-kind.ts";
import { isObject, type JsonObject } from "../../schema/model.ts";

/** What `kubectl get pods` shows in READY, STATUS and RESTARTS. */
interface PodSummary {
  ready: string;
  status: string;
  restarts: string;
}

/** What kubectl prints of a pod: how many are ready, its status, and its restarts. */
export function summarizePod(pod: UnstructuredObject, now: Date): PodSummary {
  const statuses = digList(pod, "status", "containerStatuses");
  const sidecars = sidecarNames(pod);
  const inits = digList(pod, "status", "initContainerStatuses");
  const counted = [...inits.filter((s) => sidecars.has(digText(s, "name"))), ...statuses];
  const total = digList(pod, "spec", "containers").length + sidecars.size;
  const init = initReason(pod, inits, sidecars);
  const relevant = init === undefined ? counted : inits;
  return {
    ready: `${counted.filter((s) => s.ready === true && isObject(dig(s, "state", "running"))).length}/${total}`,
    status: statusOf(pod, init, statuses),
    restarts: restartsOf(relevant, now),
  };
}

function sidecarNames(pod: UnstructuredObject): Set<string> {
  const inits = digList(pod, "spec", "initContainers");
  return new Set(inits.filter((c) => c.restartPolicy === "Always").map((c) => digText(c, "name")));
}

/** `Init:1/2` and the like, while an init container is not done. */
function initReason(pod: UnstructuredObject, inits: JsonObject[], sidecars: Set<string>): string | undefined {
  for (const [i, status] of inits.entries()) {
    if (dig(status, "state", "terminated", "exitCode") === 0) continue;
    if (sidecars.has(digText(status, "name")) && status.started === true) continue;
    const terminated = dig(status, "state", "terminated");
    if (isObject(terminated)) return `Init:${endReason(terminated)}`;
    const waiting = digText(status, "state", "waiting", "reason");
    if (waiting !== "" && waiting !== "PodInitializing") return `Init:${waiting}`;
    return `Init:${i}/${digList(pod, "spec", "initContainers").length}`;
  }
  return undefined;
}

function endReason(terminated: JsonObject): string {
  const reason = digText(terminated, "reason");
  if (reason !== "") return reason;
  const signal = Number(terminated.signal ?? 0);
  return signal !== 0 ? `Signal:${signal}` : `ExitCode:${digText(terminated, "exitCode")}`;
}

function statusOf(pod: UnstructuredObject, init: string | undefined, statuses: JsonObject[]): string {
  const podReason = digText(pod, "status", "reason");
  const phase = digText(pod, "status", "phase");
  if (pod.metadata.deletionTimestamp !== undefined && podReason === "NodeLost") return "Unknown";
  if (pod.metadata.deletionTimestamp !== undefined && !["Succeeded", "Failed"].includes(phase))
    return "Terminating";
  if (init !== undefined) return init;
  let reason = podReason || phase;
  const gated = digList(pod, "status", "conditions").some(
    (c) => c.type === "PodScheduled" && c.reason === "SchedulingGated",
  );
  if (gated) reason = "SchedulingGated";
  let running = false;
  for (const status of [...statuses].reverse()) {
    const waiting = digText(status, "state", "waiting", "reason");
    const terminated = dig(status, "state", "terminated");
    if (waiting !== "") reason = waiting;
    else if (isObject(terminated)) reason = endReason(terminated);
    else if (status.ready === true && isObject(dig(status, "state", "running"))) running = true;
  }
  if (reason !== "Completed" || !running) return reason;
  const ready = digList(pod, "status", "conditions").some((c) => c.type === "Ready" && c.status === "True");
  return ready ? "Running" : "NotReady";
}

function restartsOf(statuses: JsonObject[], now: Date): string {
  const count = statuses.reduce((sum, status) => sum + Number(status.restartCount ?? 0), 0);
  const last = statuses
    .map((status) => digText(status, "lastState", "terminated", "finishedAt"))
    .filter((time) => time !== "")
    .sort()
    .at(-1);
  return count > 0 && last !== undefined ? `${count} (${age(last, now)} ago)` : String(count);
}
