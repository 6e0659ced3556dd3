import { isDeepStrictEqual } from "node:util";
import {
  type ControllerRevision,
  labelRequirements,
  ownerReferenceTo,
  type PodTemplate,
  type StatefulSet,
} from "@mooring/store";
import { hashOf } from "../workloads/hash.ts";

/** What `kubectl rollout undo` applies to the set, as a strategic merge patch. */
export interface RevisionData {
  spec: { template: PodTemplate & { $patch: "replace" } };
}

/** What the set is now. */
export function dataOf({ spec }: StatefulSet): RevisionData {
  return { spec: { template: { ...(spec?.template ?? {}), $patch: "replace" } } };
}

/** The revision that says what the set is now. */
export function equalRevision(
  set: StatefulSet,
  revisions: readonly ControllerRevision[],
): ControllerRevision | undefined {
  const data = dataOf(set);
  return inOrder(revisions).findLast((revision) => isDeepStrictEqual(revision.data, data));
}

/** The oldest first. */
export function inOrder(revisions: readonly ControllerRevision[]): ControllerRevision[] {
  return [...revisions].sort((a, b) => a.revision - b.revision);
}

/** The template of a revision; undefined when its data cannot be read. */
export function templateOf(revision: ControllerRevision | undefined): PodTemplate | undefined {
  const data = revision?.data as Partial<RevisionData> | undefined;
  const template = data?.spec?.template;
  if (template === undefined) return undefined;
  const { $patch: _, ...rest } = template;
  return rest;
}

/** The name of the revision of now. */
export function nameOf(set: StatefulSet): string {
  return `${set.metadata.name}-${hashOf(dataOf(set), set.status?.collisionCount ?? 0)}`;
}

/** The revision of now, with the number after the highest. */
export function newRevision(set: StatefulSet, revisions: readonly ControllerRevision[]): ControllerRevision {
  const labels = { ...set.spec?.template.metadata?.labels, ...set.spec?.selector.matchLabels };
  // Throws for a selector that cannot be read, before anything is made of it.
  labelRequirements(set.spec?.selector ?? {});
  return {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: {
      ...{ name: nameOf(set), namespace: set.metadata.namespace ?? "", labels },
      ownerReferences: [ownerReferenceTo(set)],
    },
    data: dataOf(set),
    revision: nextNumber(revisions),
  };
}

export function nextNumber(revisions: readonly ControllerRevision[]): number {
  return Math.max(0, ...revisions.map(({ revision }) => revision)) + 1;
}
