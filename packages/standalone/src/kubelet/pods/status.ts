import { VOLUMES_MOUNTED } from "@mooring/engine";
import type { Pod } from "@mooring/store";
import { defined } from "@mooring/store";
import { type PodCondition, withCondition } from "../../controllers/pod-conditions.ts";
import { containerStatus } from "./container-status.ts";
import { isRunning } from "./decide.ts";
import { deadlineOf, outcomeOf, type PodView, restarts } from "./pod-view.ts";

type PodStatus = NonNullable<Pod["status"]>;

/** The status that Kubernetes would report. `address`: of the node, which its pods share. */
export function podStatus(view: PodView, address: string): PodStatus {
  const { pod } = view;
  const now = `${new Date(view.now).toISOString().slice(0, 19)}Z`;
  const outcome = outcomeOf(view);
  // The last status is written when the last process is gone.
  const phase = outcome !== undefined && !view.containers.some(isRunning) ? outcome : phaseOf(view);
  const { reason: _, message: __, ...old } = pod.status ?? {};
  const statuses = view.containers.map((each) => ({ role: each.role, status: containerStatus(view, each) }));
  const init = statuses.filter(({ role }) => role !== "app").map(({ status }) => status);
  const deadline = deadlineOf(pod);
  const late = deadline !== undefined && view.now >= deadline;
  const kept = pod.status?.phase === phase && phase === "Failed" ? keptReason(pod) : {};
  return {
    ...old,
    ...(phase === "Failed" ? reasonOf(view, late) : {}),
    ...kept,
    phase,
    startTime: pod.status?.startTime ?? now,
    hostIP: address,
    hostIPs: [{ ip: address }],
    ...(view.volumesReady ? { podIP: address, podIPs: [{ ip: address }] } : {}),
    conditions: [...conditionsOf(view, phase), ...mountsOf(view)].reduce<PodCondition[]>(
      (list, condition) => withCondition(list, condition, now),
      pod.status?.conditions ?? [],
    ),
    ...(init.length === 0 ? {} : { initContainerStatuses: init }),
    containerStatuses: statuses.filter(({ role }) => role === "app").map(({ status }) => status),
  };
}

function reasonOf({ evicted, rejected }: PodView, late: boolean): Pick<PodStatus, "reason" | "message"> {
  if (rejected !== undefined) return rejected;
  if (evicted !== undefined) return { reason: "Evicted", message: evicted };
  if (!late) return {};
  return {
    reason: "DeadlineExceeded",
    message: "Pod was active on the node longer than the specified deadline",
  };
}

function keptReason(pod: Pod): Pick<PodStatus, "reason" | "message"> {
  const { reason, message } = pod.status ?? {};
  return { ...defined({ reason, message }) };
}

function phaseOf(view: PodView): string {
  const apps = view.containers.filter(({ role }) => role === "app");
  return apps.some(({ latest }) => latest !== undefined) ? "Running" : "Pending";
}

type NewCondition = Pick<PodCondition, "type" | "status" | "reason" | "message">;

function conditionsOf(view: PodView, phase: string): NewCondition[] {
  const ended = phase === "Succeeded" || phase === "Failed";
  const completed = phase === "Succeeded" ? "PodCompleted" : "PodFailed";
  const notReady = view.containers
    .filter((each) => each.role !== "init" && !isReady(view, each))
    .map(({ spec }) => spec.name);
  const incomplete = view.containers
    .filter((each) => each.role !== "app" && !isInitialized(each))
    .map(({ spec }) => spec.name);
  const running = view.containers.some(isRunning);
  const ready: Omit<NewCondition, "type"> = ended
    ? { status: "False", reason: completed }
    : notReady.length > 0
      ? {
          status: "False",
          reason: "ContainersNotReady",
          message: `containers with unready status: [${notReady.join(" ")}]`,
        }
      : { status: "True" };
  const initialized: Omit<NewCondition, "type"> =
    incomplete.length > 0 && phase !== "Succeeded"
      ? {
          status: "False",
          reason: "ContainersNotInitialized",
          message: `containers with incomplete status: [${incomplete.join(" ")}]`,
        }
      : { status: "True", ...(phase === "Succeeded" ? { reason: completed } : {}) };
  return [
    { type: "PodReadyToStartContainers", ...startable(view, ended && !running) },
    { type: "Initialized", ...initialized },
    { type: "Ready", ...withGates(view, ready) },
    { type: "ContainersReady", ...ready },
    { type: "PodScheduled", status: "True" },
  ];
}

/** Said only of a pod that has lost a mount once. */
function mountsOf({ pod, unmounted }: PodView): NewCondition[] {
  if (unmounted !== undefined)
    return [{ type: VOLUMES_MOUNTED, status: "False", reason: "Unmounted", message: unmounted }];
  const wasLost = pod.status?.conditions?.some(({ type }) => type === VOLUMES_MOUNTED) ?? false;
  return wasLost ? [{ type: VOLUMES_MOUNTED, status: "True" }] : [];
}

function startable(view: PodView, over: boolean): Omit<NewCondition, "type"> {
  return view.volumesReady && !over ? { status: "True" } : { status: "False" };
}

/** Readiness gates are conditions that another controller sets. */
function withGates({ pod }: PodView, ready: Omit<NewCondition, "type">): Omit<NewCondition, "type"> {
  const unmet = (pod.spec?.readinessGates ?? []).filter(
    ({ conditionType }) =>
      !(pod.status?.conditions ?? []).some(({ type, status }) => type === conditionType && status === "True"),
  );
  if (ready.status !== "True" || unmet.length === 0) return ready;
  const names = unmet.map(({ conditionType }) => conditionType).join(", ");
  return {
    status: "False",
    reason: "ReadinessGatesNotReady",
    message: `corresponding condition of pod readiness gate "${names}" does not exist or is not True.`,
  };
}

function isReady(view: PodView, each: PodView["containers"][number]): boolean {
  // A container that ended well and stays so is not missed.
  if (each.latest?.exit?.code === 0 && !restarts(each, view.pod)) return true;
  return each.latest?.state === "running" && each.probes.started && each.probes.ready;
}

function isInitialized({ role, latest, probes }: PodView["containers"][number]): boolean {
  return role === "init" ? latest?.exit?.code === 0 : latest?.state === "running" && probes.started;
}
