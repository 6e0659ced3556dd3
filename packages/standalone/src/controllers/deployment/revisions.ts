import type { KubeObject, ReplicaSet } from "@mooring/store";

/** Where `kubectl rollout` reads which template is which. */
export const REVISION = "deployment.kubernetes.io/revision";
/** What an object has that no rollout has numbered. */
export const NO_REVISION = 0;

/** The number of a set, or of the one that a Deployment is at. */
export function revisionOf(object: KubeObject): number {
  const revision = Number(object.metadata.annotations?.[REVISION] ?? NO_REVISION);
  return Number.isSafeInteger(revision) ? revision : NO_REVISION;
}

/** One more than the highest. */
export function nextRevision(sets: readonly ReplicaSet[]): number {
  return Math.max(NO_REVISION, ...sets.map(revisionOf)) + 1;
}
