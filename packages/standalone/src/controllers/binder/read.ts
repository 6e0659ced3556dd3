import {
  getIfAny,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  PersistentVolumes,
  parseKey,
  type ReadContext,
  type WrittenCache,
} from "@mooring/store";
import { defaultClassOf } from "../../builtin/default-class.ts";
import type { ClusterView } from "../cluster-view.ts";
import { type ClaimView, decideClaim, isComplete, type Notice } from "./decide-claim.ts";
import { decideVolume, type VolumeView } from "./decide-volume.ts";
import type { Reports } from "./reports.ts";

interface BinderReads {
  view: Pick<ClusterView, "claims" | "classes">;
  volumes: WrittenCache<PersistentVolume>;
  reports: Reports;
}

/** What was read of a claim, and what was reported to it already. */
export type ReadClaim = ClaimView & { isReported: (notice: Notice) => boolean };

/** A claim, and what it may be bound to. Where something is to be done the binder reads the store itself. */
export async function readClaim(
  key: string,
  from: BinderReads,
  { reader, signal }: ReadContext,
): Promise<ReadClaim | undefined> {
  const volumes = reader.over(from.volumes);
  const classes = reader.over(from.view.classes);
  const viewOf = (claim: PersistentVolumeClaim, named: PersistentVolume | undefined): ReadClaim => {
    const { storageClassName } = claim.spec ?? {};
    const className = storageClassName ?? "";
    const isReported = (notice: Notice) => from.reports.has(claim, notice);
    const base = {
      claim,
      named,
      isReported,
      candidates: [],
      storageClass: undefined,
      defaultClass: undefined,
    };
    if (isComplete(claim) || claim.spec?.volumeName) return base;
    return {
      ...base,
      candidates: [...volumes.byIndex("claim", key), ...volumes.byIndex("class", className)],
      storageClass: classes.get(className),
      defaultClass: storageClassName === undefined ? defaultClassOf(classes.list()) : undefined,
    };
  };
  const cached = reader.over(from.view.claims).get(key);
  if (cached === undefined) return undefined;
  // Most reads find nothing to do. That much the caches show: what they have missed so far brings the claim back.
  const first = viewOf(cached, volumes.get(cached.spec?.volumeName ?? ""));
  if (decideClaim(first).do === "wait") return first;
  const claim = await getIfAny(reader.store, PersistentVolumeClaims, parseKey(key), signal);
  if (claim === undefined) return undefined;
  const name = claim.spec?.volumeName;
  const named = name ? await getIfAny(reader.store, PersistentVolumes, { name }, signal) : undefined;
  return viewOf(claim, named);
}

/** A volume, and the claim that it is reserved for. */
export async function readVolume(
  name: string,
  from: BinderReads,
  { reader, signal }: ReadContext,
): Promise<VolumeView | undefined> {
  const cached = reader.over(from.volumes).get(name);
  if (cached === undefined) return undefined;
  const first = { volume: cached, claim: ofVolume(cached, (key) => reader.over(from.view.claims).get(key)) };
  if (decideVolume(first).do === "wait") return first;
  const volume = await getIfAny(reader.store, PersistentVolumes, { name }, signal);
  if (volume === undefined) return undefined;
  // From the store, not from a cache: a claim that is merely not in the cache yet must not release its volume.
  const { namespace = "", name: claimName, uid } = volume.spec?.claimRef ?? {};
  const claim =
    !uid || !claimName
      ? undefined
      : await getIfAny(reader.store, PersistentVolumeClaims, { namespace, name: claimName }, signal);
  return { volume, claim: ofVolume(volume, () => claim) };
}

/** The claim for which the volume is reserved; another claim of the same name does not count. */
function ofVolume(
  { spec }: PersistentVolume,
  get: (key: string) => PersistentVolumeClaim | undefined,
): PersistentVolumeClaim | undefined {
  if (spec?.claimRef === undefined) return undefined;
  const { namespace, name, uid } = spec.claimRef;
  const claim = get(`${namespace}/${name}`);
  return claim?.metadata.uid === uid ? claim : undefined;
}
