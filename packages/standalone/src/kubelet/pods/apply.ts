import { failpoint, isNotFound, type Pod, Pods } from "@mooring/store";
import type { PodStep } from "./decide.ts";
import type { PodContext } from "./pod-controller.ts";
import type { SeenPod } from "./read.ts";
import { startContainer } from "./start-container.ts";
import { stopContainers } from "./stop-containers.ts";

const passed = {
  released: failpoint("standalone/kubelet/volumes-released"),
  folderRemoved: failpoint("standalone/kubelet/folder-removed"),
  containersRemoved: failpoint("standalone/kubelet/containers-removed"),
};

/** Carries out one step for a pod. */
export async function applyPodStep(context: PodContext, seen: SeenPod, step: PodStep): Promise<void> {
  const { runtime, volumes } = context;
  const { pod } = seen.podView;
  const { uid = "", namespace = "", name } = pod.metadata;
  switch (step.do) {
    case "start":
      return startContainer(context, pod, step.container, step.attempt);
    case "stop":
      return stopContainers(context, seen, step);
    case "releaseVolumes":
      await volumes.release(uid);
      return passed.released();
    case "removeFolder":
      await volumes.removeFolder(uid);
      return passed.folderRemoved();
    case "removeContainers":
      await removeContainers(context, pod);
      return passed.containersRemoved();
    case "deleteObject":
      await runtime.removePod({ uid, namespace, name });
      if (!seen.orphaned) await deleteObject(context, pod);
      return;
    case "mountVolumes":
    case "wait":
      return;
  }
}

async function removeContainers({ runtime, startErrors }: PodContext, pod: Pod): Promise<void> {
  const { uid = "", namespace = "", name } = pod.metadata;
  for (const each of runtime.list().filter((status) => status.pod.uid === uid)) {
    await runtime.remove(each.id);
    startErrors.delete(`${uid}/${each.name}`);
  }
  await runtime.removePod({ uid, namespace, name });
}

/** The last thing that is seen of a pod. */
async function deleteObject({ store }: PodContext, { metadata }: Pod): Promise<void> {
  const { uid, namespace = "", name } = metadata;
  const preconditions = uid === undefined ? {} : { preconditions: { uid } };
  try {
    await store.delete(Pods, { namespace, name }, { gracePeriodSeconds: 0, ...preconditions });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
