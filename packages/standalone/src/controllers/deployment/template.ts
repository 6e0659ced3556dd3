import { isDeepStrictEqual } from "node:util";
import type { Deployment, PodTemplate, ReplicaSet } from "@mooring/store";
import { hashOf } from "../workloads/hash.ts";

/** Distinguishes the pods of one ReplicaSet of a Deployment from those of another. */
export const HASH = "pod-template-hash";

/** The set makes pods of the Deployment's template of now. */
export function isCurrent(set: ReplicaSet, deployment: Deployment): boolean {
  return isDeepStrictEqual(plainTemplate(set.spec?.template), plainTemplate(deployment.spec?.template));
}

/** Without the hash: what the Deployment itself has said. */
function plainTemplate(template: PodTemplate | undefined): PodTemplate | undefined {
  if (template === undefined) return undefined;
  const { [HASH]: _, ...labels } = template.metadata?.labels ?? {};
  return { ...template, metadata: { ...template.metadata, labels } };
}

/** What {@link HASH} says of the pods of the template of now. */
export function hashOfTemplate({ spec, status }: Deployment): string {
  return hashOf(spec?.template, status?.collisionCount ?? 0);
}

/** The name of the set that makes pods of the template of now. */
export function setNameOf(deployment: Deployment): string {
  return `${deployment.metadata.name}-${hashOfTemplate(deployment)}`;
}
