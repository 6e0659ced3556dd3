import { type AttachmentProtection, attachmentProtection, publishedFor } from "@mooring/sidecars";
import {
  type Collection,
  type CSIDriver,
  type CSINode,
  defined,
  type KubeVolumeAttachment,
  keyOf,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { claimNameOf, isFinished, type PlacedPod } from "../pod-claims.ts";
import type { WantedVolume } from "./plan.ts";

/** What is read, from caches or through a reader. */
interface Caches {
  pods: Collection<PlacedPod>;
  claims: Collection<PersistentVolumeClaim>;
  volumes: Collection<PersistentVolume>;
  drivers: Collection<CSIDriver>;
  csiNodes: Collection<CSINode>;
  attachments: Collection<KubeVolumeAttachment>;
}

/** Volumes that the node's pods need attached, each once. Pods that have ended need nothing. */
export function wantedVolumes(
  view: Caches,
  nodeName: string,
  hasAttacher: (driver: string) => boolean,
): WantedVolume[] {
  const wanted = new Map<string, WantedVolume>();
  for (const pod of view.pods.byIndex("node", nodeName)) {
    if (isFinished(pod)) continue;
    for (const volume of boundVolumes(view, pod)) {
      const attachable = asWanted(view, volume);
      if (attachable === undefined) continue;
      const protection = hasAttacher(attachable.driver) ? protectionOf(view, volume, nodeName) : undefined;
      wanted.set(attachable.volume, { ...attachable, ...defined({ protection }) });
    }
  }
  return [...wanted.values()];
}

/** The volumes that are bound, both ways, to the claims of a pod. */
export function boundVolumes(view: Pick<Caches, "claims" | "volumes">, pod: PlacedPod): PersistentVolume[] {
  return (pod.spec?.volumes ?? []).flatMap((each) => {
    const name = claimNameOf(pod, each);
    const claim = name === undefined ? undefined : view.claims.get(`${pod.metadata.namespace}/${name}`);
    const volume = view.volumes.get(claim?.spec?.volumeName ?? "");
    if (claim === undefined || volume === undefined) return [];
    if (volume.spec?.claimRef?.uid !== claim.metadata.uid) return [];
    return [volume];
  });
}

/** The pods of the node that use the volume: they get the events about its attachment. */
export function podsUsing(
  view: Pick<ClusterView, "pods" | "claims">,
  volume: string,
  nodeName: string,
): Pod[] {
  return view.claims
    .byIndex("volume", volume)
    .flatMap((claim) => view.pods.byIndex("claim", keyOf(claim)))
    .filter((pod) => pod.spec?.nodeName === nodeName && !isFinished(pod));
}

/** The nodes besides `except` that have an attachment of the volume, whatever has become of it. */
export function nodesWithAttachment(
  view: Pick<Caches, "attachments">,
  volume: string,
  except: string,
): string[] {
  const nodes = view.attachments.byIndex("volume", volume).map(({ spec }) => spec?.nodeName ?? "");
  return nodes.filter((node) => node !== except);
}

/** None while the driver is not on the node: the attacher reports that, and writes it later. */
function protectionOf(
  { csiNodes }: Pick<Caches, "csiNodes">,
  { spec }: PersistentVolume,
  nodeName: string,
): AttachmentProtection | undefined {
  const csi = spec?.csi;
  const nodeId = csiNodes.get(nodeName)?.spec.drivers.find(({ name }) => name === csi?.driver)?.nodeID;
  if (csi === undefined || nodeId === undefined) return undefined;
  return attachmentProtection(csi.driver, publishedFor(csi, nodeId));
}

function asWanted(view: Pick<Caches, "drivers">, volume: PersistentVolume): WantedVolume | undefined {
  const csi = volume.spec?.csi;
  if (csi === undefined) return undefined;
  // Without a CSIDriver object a driver counts as one that must be asked.
  if (view.drivers.get(csi.driver)?.spec?.attachRequired === false) return undefined;
  const shared = (volume.spec?.accessModes ?? []).some((mode) => mode.endsWith("Many"));
  return { volume: volume.metadata.name, driver: csi.driver, handle: csi.volumeHandle, shared };
}
