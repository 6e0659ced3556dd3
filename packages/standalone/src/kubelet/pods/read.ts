import type { Pod } from "@mooring/store";
import { defined } from "@mooring/store";
import type { ContainerStatus } from "../../runtime/index.ts";
import { containerID } from "./container-config.ts";
import { orphanedPod } from "./orphaned-pod.ts";
import type { PodContext } from "./pod-controller.ts";
import { type ContainerView, outcomeOf, type PodView, rolesOf, unsupportedImages } from "./pod-view.ts";

export interface SeenPod {
  podView: PodView;
  /** There is no such pod on this node any more, only what it left. */
  orphaned: boolean;
}

/** Everything about a pod as it is now; undefined when nothing of it is left. Has its containers probed, too. */
export async function lookAtPod(context: PodContext, uid: string): Promise<SeenPod | undefined> {
  const { view, runtime, volumes, node } = context;
  const attempts = runtime.list().filter((each) => each.pod.uid === uid);
  const found = view.pods.byIndex("uid", uid)[0];
  const mine = found?.spec?.nodeName === node.nodeName ? found : undefined;
  const onDisk = await volumes.hasFolder(uid);
  const pod = mine ?? (await orphanedPod(runtime, uid, attempts, onDisk || volumes.holds(uid)));
  if (pod === undefined) return undefined;
  const orphaned = mine === undefined;
  const containers = containersOf(context, pod, attempts);
  for (const each of containers) keepProbing(context, pod, each);
  const base = { pod, containers, volumesHeld: volumes.holds(uid), onDisk, now: Date.now() };
  const podView: PodView = { ...base, volumesReady: false };
  return {
    podView: orphaned ? podView : { ...podView, volumesReady: await areVolumesReady(context, podView) },
    orphaned,
  };
}

async function areVolumesReady({ volumes }: PodContext, podView: PodView): Promise<boolean> {
  const { pod, containers } = podView;
  const ending = pod.metadata.deletionTimestamp !== undefined || outcomeOf(podView) !== undefined;
  if (ending || unsupportedImages(pod).length > 0) return false;
  const ready = await volumes.ensure(pod);
  // What runs has its volumes, also while they are looked at again after a restart of ours.
  return ready || containers.some(({ latest }) => latest?.state === "running");
}

function containersOf(
  { prober, startErrors }: PodContext,
  pod: Pod,
  attempts: readonly ContainerStatus[],
): ContainerView[] {
  return rolesOf(pod).map(({ spec, role }) => {
    const own = attempts.filter(({ name }) => name === spec.name).sort((a, b) => b.attempt - a.attempt);
    const [latest, previous] = own;
    const startError = startErrors.get(`${pod.metadata.uid}/${spec.name}`);
    const probes = prober.results(latest?.id ?? "", spec);
    return { spec, role, latest, previous, probes, ...defined({ startError }) };
  });
}

function keepProbing(context: PodContext, pod: Pod, { spec, latest, previous }: ContainerView): void {
  const { prober, runtime, node, signal } = context;
  if (previous !== undefined) prober.end(previous.id);
  if (latest === undefined) return;
  if (latest.state !== "running") {
    prober.end(latest.id);
    return;
  }
  const id = containerID(pod, spec.name, latest.attempt);
  prober.ensure(latest.id, spec, Date.parse(latest.startedAt ?? latest.createdAt), {
    host: node.address,
    ports: spec.ports ?? [],
    exec: (argv, timeoutMs) => runtime.exec(id, argv, { timeoutMs, signal }),
  });
}
