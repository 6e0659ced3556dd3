import { DONE, isNotFound, type Pod, Pods } from "@mooring/store";
import { containerID } from "./container-id.ts";
import type { PodContext } from "./context.ts";
import type { ActivePodStep } from "./decide.ts";
import { keepProbing } from "./keep-probing.ts";
import { rolesOf } from "./pod-view.ts";
import type { SeenPod } from "./read.ts";
import { reportStatus } from "./report.ts";
import { startContainer } from "./start-container.ts";
import { stopContainers } from "./stop-containers.ts";

/** Carries out one step for a pod. */
export async function applyPodStep(
  context: PodContext,
  seen: SeenPod,
  step: ActivePodStep,
): Promise<typeof DONE | undefined> {
  switch (step.do) {
    case "start":
      await startAndReport(context, seen, step);
      return undefined;
    case "stop":
      await stopContainers(context, seen, step);
      return undefined;
    default:
      return context.seats.run(() => applyBusyStep(context, seen, step));
  }
}

/** One that waits for no program of the pod. */
async function applyBusyStep(
  context: PodContext,
  seen: SeenPod,
  step: Exclude<ActivePodStep, { do: "start" | "stop" }>,
): Promise<typeof DONE | undefined> {
  const { runtime, volumes } = context;
  const { pod } = seen.podView;
  const { uid = "", namespace = "", name } = pod.metadata;
  switch (step.do) {
    case "update-probes":
      for (const each of seen.podView.containers) keepProbing(context, pod, each);
      return undefined;
    case "mount-volumes":
      prepareStart(context, seen);
      await volumes.mount(pod, seen.origin);
      return undefined;
    case "report-status":
      // That it waits for its volumes must not keep their own writes from the disk.
      await reportStatus(context, seen.podView, { patient: volumes.isStaging(uid) });
      reportRejection(context, seen);
      return undefined;
    case "release-volumes":
      await volumes.release(uid);
      return undefined;
    case "remove-folder":
      await volumes.removeFolder(uid);
      return undefined;
    case "remove-containers":
      await removeContainers(context, pod);
      return undefined;
    case "delete-object":
      context.images.forgetPod(uid);
      await runtime.removePod({ uid, namespace, name });
      if (!seen.orphaned) await deleteObject(context, pod);
      return DONE;
  }
}

function reportRejection({ events }: PodContext, { podView: { pod, rejected } }: SeenPod): void {
  if (rejected !== undefined) events.event(pod, "Warning", rejected.reason, rejected.message);
}

/** Beside the volumes, which take longer. */
function prepareStart({ runtime }: PodContext, { podView: { pod, containers } }: SeenPod): void {
  if (rolesOf(pod).some(({ spec }) => spec.image === "host")) void runtime.prepare();
  const [first] = containers;
  if (first === undefined || first.latest !== undefined || pod.spec?.hostUsers === false) return;
  const { uid = "", namespace = "", name } = pod.metadata;
  const container = first.spec.name;
  runtime.prepareStart({
    ...{ id: containerID(pod, container, 0), pod: { uid, namespace, name } },
    ...{ name: container, attempt: 0 },
  });
}

/** The status of before is on disk when this resolves or rejects: a later one is never overwritten by it. */
async function startAndReport(
  context: PodContext,
  { podView }: SeenPod,
  { container, attempt }: Extract<ActivePodStep, { do: "start" }>,
): Promise<void> {
  // Its own record goes to the disk at the same time, and is waited for.
  const reported = reportStatus(context, podView, { patient: true });
  const started = startContainer(context, podView.pod, { name: container, attempt, reported });
  await Promise.all([reported, started]).finally(() => Promise.allSettled([reported, started]));
}

async function removeContainers({ runtime, startErrors, images }: PodContext, pod: Pod): Promise<void> {
  const { uid = "", namespace = "", name } = pod.metadata;
  images.forgetPod(uid);
  for (const each of runtime.list().filter((status) => status.pod.uid === uid)) {
    await runtime.remove(each.id);
    startErrors.delete(`${uid}/${each.name}`);
  }
  await runtime.removePod({ uid, namespace, name });
}

/** Removes the pod's object: the last write about a pod. */
async function deleteObject({ store }: PodContext, { metadata }: Pod): Promise<void> {
  const { uid, namespace = "", name } = metadata;
  const preconditions = uid === undefined ? {} : { preconditions: { uid } };
  try {
    await store.delete(Pods, { namespace, name }, { gracePeriodSeconds: 0, ...preconditions });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
