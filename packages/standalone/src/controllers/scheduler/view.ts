import type { Node, PersistentVolumeClaim, Pod } from "@mooring/store";
import { boundVolumes } from "../attach-detach/wanted.ts";
import { isForeign } from "../binder/ephemeral.ts";
import type { ClusterView } from "../cluster-view.ts";
import { claimNameOf, isFinished } from "../pod-claims.ts";
import type { ClaimView, NodeView, SchedulingView } from "./decide.ts";
import { requestsOf, sumOf } from "./requests.ts";

/** Everything that the decision about one pod may look at. `assumed`: pods bound a moment ago, before the caches know. */
export function schedulingView(
  view: ClusterView,
  pod: Pod,
  assumed: ReadonlyMap<string, string>,
): SchedulingView {
  return {
    pod,
    claims: (pod.spec?.volumes ?? []).flatMap((volume) => {
      const name = claimNameOf(pod, volume);
      return name === undefined ? [] : [claimView(view, pod, name, assumed)];
    }),
    nodes: view.nodes.list().map((node) => nodeView(view, node, assumed)),
    capacities: view.capacities.list(),
    tracksCapacity: (driver) => view.drivers.get(driver)?.spec?.storageCapacity === true,
  };
}

function claimView(
  view: ClusterView,
  pod: Pod,
  name: string,
  assumed: ReadonlyMap<string, string>,
): ClaimView {
  const key = `${pod.metadata.namespace}/${name}`;
  const claim = view.claims.get(key);
  const className = claim?.spec?.storageClassName ?? "";
  const volume = view.volumes.get(claim?.spec?.volumeName ?? "");
  const bound = isBound(claim) && volume?.spec?.claimRef?.uid === claim?.metadata.uid ? volume : undefined;
  const takenBy = (claim?.spec?.accessModes ?? []).includes("ReadWriteOncePod")
    ? view.pods.byIndex("claim", key).find((other) => isOther(other, pod, assumed))
    : undefined;
  return {
    name,
    claim,
    volume: bound,
    storageClass: view.classes.get(className),
    candidates: [...view.volumes.byIndex("claim", key), ...view.volumes.byIndex("class", className)],
    ...(claim !== undefined && isForeign(claim, pod) ? { foreign: true } : {}),
    ...(takenBy === undefined ? {} : { takenBy: takenBy.metadata.name }),
  };
}

function isBound(claim: PersistentVolumeClaim | undefined): boolean {
  return claim?.status?.phase === "Bound";
}

function isOther(other: Pod, pod: Pod, assumed: ReadonlyMap<string, string>): boolean {
  const placed = Boolean(other.spec?.nodeName) || assumed.has(other.metadata.uid ?? "");
  return other.metadata.uid !== pod.metadata.uid && placed && !isFinished(other);
}

function nodeView(view: ClusterView, node: Node, assumed: ReadonlyMap<string, string>): NodeView {
  const { name } = node.metadata;
  const here = view.pods.byIndex("node", name);
  const known = new Set(here.map((pod) => pod.metadata.uid));
  const coming = [...assumed].filter(([uid, at]) => at === name && !known.has(uid)).map(([uid]) => uid);
  const arriving =
    coming.length === 0
      ? []
      : view.pods.byIndex("unplaced", "yes").filter((pod) => coming.includes(pod.metadata.uid ?? ""));
  const pods = [...here, ...arriving].filter((pod) => !isFinished(pod));
  const used = new Map<string, Set<string>>();
  for (const volume of pods.flatMap((pod) => boundVolumes(view, pod))) {
    const csi = volume.spec?.csi;
    if (csi !== undefined) used.set(csi.driver, (used.get(csi.driver) ?? new Set()).add(csi.volumeHandle));
  }
  const limits = new Map<string, number>();
  for (const driver of view.csiNodes.get(name)?.spec?.drivers ?? []) {
    if (driver.allocatable?.count !== undefined) limits.set(driver.name, driver.allocatable.count);
  }
  return { node, used, limits, pods: pods.length, requested: sumOf(pods.map(requestsOf)) };
}
