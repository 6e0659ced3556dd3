import {
  isDeleting,
  type PersistentVolume,
  type PersistentVolumeClaim,
  Pods,
  type ReadContext,
  type WrittenCache,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { claimKeysOf, type PlacedPod, placedPod } from "../pod-claims.ts";
import { type ClaimView, decideClaim, type VolumeView } from "./decide.ts";

/** A claim and, when it is being deleted, whether anything uses it. */
export async function readClaim(
  key: string,
  claims: WrittenCache<PersistentVolumeClaim>,
  { pods }: Pick<ClusterView, "pods">,
  { reader, fresh, signal }: ReadContext,
): Promise<ClaimView | undefined> {
  const object = await again(claims, key, reader, fresh);
  if (object === undefined) return undefined;
  if (!isDeleting(object)) return { object, used: false };
  const uses = (pod: PlacedPod) => usesClaim(pod, key);
  const view = { object, used: reader.over(pods, placedPod).byIndex("claim", key).some(uses) };
  if (decideClaim(view).do !== "remove-finalizer") return view;
  // The cache may not know the newest pod yet, and taking the finalizer away cannot be undone.
  const { namespace = "" } = object.metadata;
  const { items } = await reader.store.list(Pods, { namespace, signal });
  return { object, used: items.some(uses) };
}

/** What the decision about a volume's finalizer depends on. */
export async function readVolume(
  name: string,
  volumes: WrittenCache<PersistentVolume>,
  { reader, fresh }: ReadContext,
): Promise<VolumeView | undefined> {
  const object = await again(volumes, name, reader, fresh);
  return object === undefined ? undefined : { object };
}

async function again<T extends PersistentVolume | PersistentVolumeClaim>(
  cache: WrittenCache<T>,
  key: string,
  reader: ReadContext["reader"],
  fresh: boolean,
): Promise<T | undefined> {
  if (fresh) await cache.refresh(key);
  return reader.over(cache).get(key);
}

function usesClaim(pod: PlacedPod, key: string): boolean {
  // Without a node no kubelet will start it any more: kubelets refuse claims that are being deleted.
  return Boolean(pod.spec?.nodeName) && claimKeysOf(pod).includes(key);
}
