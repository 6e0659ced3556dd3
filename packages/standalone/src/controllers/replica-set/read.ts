import { keyOf, type Pod, type ReadContext, type ReplicaSet, type WrittenCache } from "@mooring/store";
import { selects } from "../workloads/owners.ts";
import { isActive } from "../workloads/pods.ts";
import type { ReplicaSetView } from "./decide.ts";

export interface ReplicaSetCaches {
  sets: WrittenCache<ReplicaSet>;
  pods: WrittenCache<Pod>;
  /** By key of the set. */
  failures: Map<string, CreateFailure>;
}

/** What the last attempt to create a pod of a set has said. */
export interface CreateFailure {
  /** Of the set. */
  uid: string | undefined;
  message: string;
}

/** A set, its pods, and those that would be its own. */
export async function readReplicaSet(
  key: string,
  { sets, pods, failures }: ReplicaSetCaches,
  { reader, fresh, signal }: ReadContext,
): Promise<ReplicaSetView | undefined> {
  if (fresh) await sets.refresh(key, signal);
  const set = reader.over(sets).get(key);
  if (set === undefined) return undefined;
  const uid = set.metadata.uid ?? "";
  if (fresh) for (const pod of pods.byIndex("controller", uid)) await pods.refresh(keyOf(pod), signal);
  const owned = reader.over(pods).byIndex("controller", uid);
  const orphans = reader.over(pods).byIndex("orphan", set.metadata.namespace ?? "");
  const failure = failures.get(key);
  return {
    set,
    owned,
    orphans: orphans.filter((pod) => isActive(pod) && selects(set, pod)),
    failure: failure?.uid === set.metadata.uid ? failure?.message : undefined,
    now: Date.now(),
  };
}
