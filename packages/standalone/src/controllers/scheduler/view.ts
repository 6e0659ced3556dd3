import {
  type Collection,
  type CSIDriver,
  type CSINode,
  type CSIStorageCapacity,
  defined,
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type StorageClass,
} from "@mooring/store";
import { boundVolumes } from "../attach-detach/wanted.ts";
import type { ClusterView } from "../cluster-view.ts";
import { isForeign } from "../ephemeral-volumes/read.ts";
import { claimNameOf, isFinished } from "../pod-claims.ts";
import type { ClaimView, NodeView, SchedulingView } from "./decide.ts";
import { hostPortsOf, requestsOf, sumOf } from "./requests.ts";

/** What is read for a pod. */
interface SchedulingCaches {
  /** As a reader notes it: a change of it may help the pod. */
  noted: {
    claims: Collection<PersistentVolumeClaim>;
    volumes: Collection<PersistentVolume>;
    classes: Collection<StorageClass>;
    nodes: Collection<Node>;
    csiNodes: Collection<CSINode>;
    capacities: Collection<CSIStorageCapacity>;
    drivers: Collection<CSIDriver>;
  };
  /** What other pods have. Those that come only take room, and who goes is reported as the topic {@link ROOM}. */
  others: Pick<ClusterView, "pods" | "claims" | "volumes">;
  /** Pods bound a moment ago, before the caches know: uid -> node. */
  assumed: ReadonlyMap<string, string>;
}

/** Changes when a pod leaves its node or ends there. */
export const ROOM = "room";

/** Of a node what decisions read: the rest changes with every heartbeat. */
export function schedulableNode({ apiVersion, kind, metadata, spec, status }: Node): Node {
  const { name, labels = {} } = metadata;
  const { taints = [], unschedulable = false } = spec ?? {};
  const ready = (status?.conditions ?? []).filter(({ type }) => type === "Ready");
  return {
    ...{ apiVersion, kind },
    metadata: { name, labels },
    spec: { taints, unschedulable },
    status: {
      conditions: ready.map((condition) => ({ type: condition.type, status: condition.status })),
      ...defined({ allocatable: status?.allocatable }),
    },
  };
}

/** Everything that the decision about one pod may read. */
export function schedulingView(caches: SchedulingCaches, pod: Pod): SchedulingView {
  const { noted } = caches;
  return {
    pod,
    claims: (pod.spec?.volumes ?? []).flatMap((volume) => {
      const name = claimNameOf(pod, volume);
      return name === undefined ? [] : [claimView(caches, pod, name)];
    }),
    nodes: noted.nodes.list().map((node) => nodeView(caches, node)),
    capacities: noted.capacities.list(),
    // Asked while it is decided: the reader notes that as well.
    tracksCapacity: (driver) => noted.drivers.get(driver)?.spec?.storageCapacity === true,
  };
}

function claimView({ noted, others, assumed }: SchedulingCaches, pod: Pod, name: string): ClaimView {
  const key = `${pod.metadata.namespace}/${name}`;
  const claim = noted.claims.get(key);
  const className = claim?.spec?.storageClassName ?? "";
  const volume = noted.volumes.get(claim?.spec?.volumeName ?? "");
  const bound = isBound(claim) && volume?.spec?.claimRef?.uid === claim?.metadata.uid ? volume : undefined;
  const takenBy = (claim?.spec?.accessModes ?? []).includes("ReadWriteOncePod")
    ? others.pods.byIndex("claim", key).find((other) => isOther(other, pod, assumed))
    : undefined;
  return {
    name,
    claim,
    volume: bound,
    storageClass: noted.classes.get(className),
    candidates: [...noted.volumes.byIndex("claim", key), ...noted.volumes.byIndex("class", className)],
    ...(claim !== undefined && isForeign(claim, pod) ? { foreign: true } : {}),
    ...defined({ takenBy: takenBy?.metadata.name }),
  };
}

function isBound(claim: PersistentVolumeClaim | undefined): boolean {
  return claim?.status?.phase === "Bound";
}

function isOther(other: Pod, pod: Pod, assumed: ReadonlyMap<string, string>): boolean {
  const placed = Boolean(other.spec?.nodeName) || assumed.has(other.metadata.uid ?? "");
  return other.metadata.uid !== pod.metadata.uid && placed && !isFinished(other);
}

function nodeView({ noted, others, assumed }: SchedulingCaches, node: Node): NodeView {
  const { name } = node.metadata;
  const here = others.pods.byIndex("node", name);
  const known = new Set(here.map((pod) => pod.metadata.uid));
  const coming = [...assumed].filter(([uid, at]) => at === name && !known.has(uid)).map(([uid]) => uid);
  const arriving =
    coming.length === 0
      ? []
      : others.pods.byIndex("unplaced", "yes").filter((pod) => coming.includes(pod.metadata.uid ?? ""));
  const pods = [...here, ...arriving].filter((pod) => !isFinished(pod));
  const used = new Map<string, Set<string>>();
  for (const volume of pods.flatMap((pod) => boundVolumes(others, pod))) {
    const csi = volume.spec?.csi;
    if (csi !== undefined) used.set(csi.driver, (used.get(csi.driver) ?? new Set()).add(csi.volumeHandle));
  }
  const limits = new Map<string, number>();
  for (const driver of noted.csiNodes.get(name)?.spec?.drivers ?? []) {
    if (driver.allocatable?.count !== undefined) limits.set(driver.name, driver.allocatable.count);
  }
  const hostPorts = new Set(pods.flatMap(hostPortsOf));
  return { node, used, limits, hostPorts, pods: pods.length, requested: sumOf(pods.map(requestsOf)) };
}
