import { defined, type Pod, type ReadContext } from "@mooring/store";
import { isFinished } from "../../controllers/pod-claims.ts";
import type { ContainerStatus } from "../../runtime/index.ts";
import type { ClaimCaches } from "../volumes/csi-volume.ts";
import { containerID } from "./container-id.ts";
import type { PodContext } from "./context.ts";
import type { PodDue } from "./decide.ts";
import { areProbesDue } from "./keep-probing.ts";
import { orphanedPod } from "./orphaned-pod.ts";
import { type ContainerView, outcomeOf, type PodView, rolesOf } from "./pod-view.ts";
import { versionsOf } from "./references.ts";
import { type Rejection, rejectionOf } from "./rejection.ts";
import { isStatusDue } from "./report.ts";

/** What was read of a pod and its containers. */
export interface SeenPod {
  podView: PodView;
  /** There is no such pod on this node any more, only what it left. */
  orphaned: boolean;
  due: PodDue;
  /** What its volumes are made from. */
  origin: string;
}

/** Everything about a pod as it is now; undefined when nothing of it is left. Without a reader no read is recorded. */
export async function readPod(
  context: PodContext,
  uid: string,
  reader?: ReadContext["reader"],
): Promise<SeenPod | undefined> {
  const { runtime, volumes, node } = context;
  const pods = reader === undefined ? context.pods : reader.over(context.pods);
  const attempts = runtime.list().filter((each) => each.pod.uid === uid);
  const found = pods.byIndex("uid", uid)[0];
  const mine = found?.spec?.nodeName === node.nodeName ? found : undefined;
  const onDisk = await volumes.hasFolder(uid);
  const pod = mine ?? (await orphanedPod(runtime, uid, attempts, onDisk || volumes.isUsing(uid)));
  if (pod === undefined) return undefined;
  const orphaned = mine === undefined;
  const containers = containersOf(context, pod, attempts);
  const evicted = context.evictions.why(uid);
  const unmounted = context.lostMounts.of(uid);
  const rejected = orphaned || attempts.length > 0 ? undefined : rejectedHere(context, pod, reader);
  const base = {
    ...{ pod, containers, volumesInUse: volumes.isUsing(uid), onDisk, now: Date.now() },
    ...defined({ evicted, rejected, unmounted }),
  };
  const due = {
    ...{ mount: false, status: false, releasing: volumes.isReleasing(uid) },
    probes: containers.some((each) => areProbesDue(context, each)),
  };
  if (orphaned) return { podView: { ...base, volumesReady: false }, orphaned, due, origin: "" };
  const { origin, mount, ready } = volumesOf(context, { ...base, volumesReady: false }, reader);
  const podView = { ...base, volumesReady: ready };
  return { podView, orphaned, due: { ...due, mount, status: isStatusDue(podView, node.address) }, origin };
}

/** Of a pod that nothing has been begun of: what has begun stays, also when the node has less to give now. */
function rejectedHere(
  { view, node, pods }: PodContext,
  pod: Pod,
  reader: ReadContext["reader"] | undefined,
): Rejection | undefined {
  if (hasBegun(pod) || isFinished(pod) || pod.metadata.deletionTimestamp !== undefined) return undefined;
  const [podsNoted, nodes] =
    reader === undefined ? [pods, view.nodes] : [reader.over(pods), reader.over(view.nodes)];
  const own = nodes.get(node.nodeName);
  if (own === undefined) return undefined;
  return rejectionOf(pod, { here: podsNoted.byIndex("node", node.nodeName), node: own, hasBegun });
}

/** It has a status of this kubelet: with the first one the node has taken it. */
const hasBegun = ({ status }: Pod): boolean => status?.startTime !== undefined;

function volumesOf(
  { view, references, volumes, wakes }: PodContext,
  podView: PodView,
  reader: ReadContext["reader"] | undefined,
): { origin: string; mount: boolean; ready: boolean } {
  const { pod, containers } = podView;
  const ending = pod.metadata.deletionTimestamp !== undefined || outcomeOf(podView) !== undefined;
  if (ending) return { origin: "", mount: false, ready: false };
  const { uid = "" } = pod.metadata;
  const caches: ClaimCaches =
    reader === undefined ? view : { claims: reader.over(view.claims), volumes: reader.over(view.volumes) };
  const noted =
    reader === undefined || references === undefined
      ? references
      : { configMaps: reader.over(references.configMaps), secrets: reader.over(references.secrets) };
  const origin = `${wakes.remounts(uid)} ${versionsOf(pod, noted)} ${volumes.origin(pod, caches)}`;
  // What runs has its volumes, also while they are read again after a restart of ours.
  const running = containers.some(({ latest }) => latest?.state === "running");
  const mounted = volumes.isMounted(uid, origin);
  return { origin, mount: !mounted, ready: (mounted && volumes.isReady(pod, caches)) || running };
}

function containersOf(
  { prober, startErrors, images }: PodContext,
  pod: Pod,
  attempts: readonly ContainerStatus[],
): ContainerView[] {
  return rolesOf(pod).map(({ spec, role }) => {
    const own = attempts.filter(({ name }) => name === spec.name).sort((a, b) => b.attempt - a.attempt);
    const [latest, previous] = own;
    const startError = startErrors.get(`${pod.metadata.uid}/${spec.name}`);
    const probes = prober.results(latest?.id ?? "", spec);
    const image = images.view(containerID(pod, spec.name, latest === undefined ? 0 : latest.attempt + 1));
    return { spec, role, latest, previous, probes, ...defined({ startError, image }) };
  });
}
