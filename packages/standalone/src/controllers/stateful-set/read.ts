import {
  type ControllerRevision,
  type KubeObject,
  keyOf,
  type PersistentVolumeClaim,
  type Pod,
  type ReadContext,
  type StatefulSet,
  type WrittenCache,
} from "@mooring/store";
import { controllerUid, selects } from "../workloads/owners.ts";
import type { SetClaim } from "./claims.ts";
import { claimsOf, ordinalOf, ordinalsOf } from "./identity.ts";
import { nameOf } from "./revisions.ts";
import type { StatefulSetView } from "./rollout.ts";

export interface StatefulSetCaches {
  sets: WrittenCache<StatefulSet>;
  pods: WrittenCache<Pod>;
  claims: WrittenCache<PersistentVolumeClaim>;
  revisions: WrittenCache<ControllerRevision>;
  /** By key of the set whose last pod or claim was refused, its UID. */
  refused: Map<string, string>;
}

/** A set with its pods, its claims and its history. */
export async function readStatefulSet(
  key: string,
  caches: StatefulSetCaches,
  context: ReadContext,
): Promise<StatefulSetView | undefined> {
  const { reader, fresh, signal } = context;
  const { sets, pods, revisions } = caches;
  if (fresh) await sets.refresh(key, signal);
  const set = reader.over(sets).get(key);
  if (set === undefined) return undefined;
  const { namespace = "", uid = "" } = set.metadata;
  const at = (name: string) => `${namespace}/${name}`;
  if (fresh) await refreshAll(set, caches, signal);
  const owned = reader.over(pods).byIndex("controller", uid);
  const orphans = reader.over(pods).byIndex("orphan", namespace);
  const names = ordinalsOf(set).map((ordinal) => `${set.metadata.name}-${ordinal}`);
  const named = names.flatMap((name) => reader.over(pods).get(at(name)) ?? []);
  const history = reader.over(revisions).byIndex("controller", uid);
  const loose = reader.over(revisions).byIndex("orphan", namespace);
  const taken = reader.over(revisions).get(at(nameOf(set)));
  return {
    ...{ set, owned, revisions: history, now: Date.now() },
    orphans: orphans.filter(
      (pod) => !isBeingDeleted(pod) && ordinalOf(set, pod) !== undefined && selects(set, pod),
    ),
    orphanRevisions: loose.filter((revision) => !isBeingDeleted(revision) && selects(set, revision)),
    foreignNames: new Set(
      named.filter((pod) => controllerUid(pod) !== uid).map(({ metadata }) => metadata.name),
    ),
    nameTaken: taken !== undefined && !history.includes(taken),
    claims: readClaims(set, owned, caches, reader),
    refused: caches.refused.get(key) === uid,
  };
}

const isBeingDeleted = ({ metadata }: KubeObject) => metadata.deletionTimestamp !== undefined;

function readClaims(
  set: StatefulSet,
  owned: readonly Pod[],
  { claims }: StatefulSetCaches,
  reader: ReadContext["reader"],
): SetClaim[] {
  const ordinals = new Set([...ordinalsOf(set), ...owned.flatMap((pod) => ordinalOf(set, pod) ?? [])]);
  return [...ordinals].flatMap((ordinal) =>
    claimsOf(set, ordinal).flatMap((wanted) => {
      const claim = reader.over(claims).get(keyOf(wanted));
      return claim === undefined ? [] : [{ claim, ordinal }];
    }),
  );
}

/** What a step may have met that the watch has not delivered yet. */
async function refreshAll(set: StatefulSet, caches: StatefulSetCaches, signal: AbortSignal): Promise<void> {
  const { namespace = "", uid = "" } = set.metadata;
  for (const ordinal of ordinalsOf(set)) {
    await caches.pods.refresh(`${namespace}/${set.metadata.name}-${ordinal}`, signal);
    for (const claim of claimsOf(set, ordinal)) await caches.claims.refresh(keyOf(claim), signal);
  }
  for (const pod of caches.pods.byIndex("controller", uid)) await caches.pods.refresh(keyOf(pod), signal);
  await caches.revisions.refresh(`${namespace}/${nameOf(set)}`, signal);
}
