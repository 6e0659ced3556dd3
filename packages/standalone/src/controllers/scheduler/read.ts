import type { PersistentVolume, PersistentVolumeClaim, Pod, ReadContext, WrittenCache } from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { isWaiting, type PodView } from "./decide.ts";
import type { SchedulerMemory } from "./memory.ts";
import { ROOM, schedulableNode, schedulingView } from "./view.ts";

interface SchedulerReads {
  view: ClusterView;
  memory: SchedulerMemory;
  pods: WrittenCache<Pod>;
  claims: WrittenCache<PersistentVolumeClaim>;
  volumes: WrittenCache<PersistentVolume>;
}

const NOTHING: PodView = { pod: undefined, placing: undefined, isReported: () => false };

/** A pod that has no node yet, and what there is to place it on. */
export async function readPod(
  key: string,
  { view, memory, ...from }: SchedulerReads,
  { reader, fresh }: ReadContext,
): Promise<PodView> {
  if (fresh) await from.pods.refresh(key);
  const pod = reader.over(from.pods).get(key);
  if (pod === undefined || !isWaiting(pod) || memory.assumed.has(pod.metadata.uid ?? "")) return NOTHING;
  const isReported = (message: string) => memory.isReported(pod, message);
  if ((pod.spec?.schedulingGates ?? []).length > 0) return { pod, placing: undefined, isReported };
  reader.topic(ROOM);
  const noted = {
    claims: reader.over(from.claims),
    volumes: reader.over(from.volumes),
    classes: reader.over(view.classes),
    nodes: reader.over(view.nodes, schedulableNode),
    csiNodes: reader.over(view.csiNodes),
    capacities: reader.over(view.capacities),
    drivers: reader.over(view.drivers),
  };
  return { pod, placing: schedulingView({ noted, others: view, assumed: memory.assumed }, pod), isReported };
}
