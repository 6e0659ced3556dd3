import type { OwnerReference, Pod } from "@mooring/store";

/** Keeps a pod until its Job has counted it. */
export const JOB_TRACKING = "batch.kubernetes.io/job-tracking";
/** Annotation and label of a pod: which part of an Indexed Job it does. */
export const COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index";

const JOB_NAME = "batch.kubernetes.io/job-name";

/** The reference to the object that manages this one. */
export function controllerOf({ metadata }: Pick<Pod, "metadata">): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

/** True while the pod's end has to be counted, or its Job has not released it. */
export function isTracked({ metadata }: Pick<Pod, "metadata">): boolean {
  return metadata.finalizers?.includes(JOB_TRACKING) ?? false;
}

/**
 * `namespace/name` of the Job that a pod is of; also of one that has lost its owner and still waits to be released. Empty
 * for pods that have nothing to do with Jobs.
 */
export function jobKeysOf(pod: Pick<Pod, "metadata">): string[] {
  const { namespace = "", labels } = pod.metadata;
  const owner = controllerOf(pod);
  if (owner?.kind === "Job" && owner.apiVersion.startsWith("batch/")) return [`${namespace}/${owner.name}`];
  return isTracked(pod) ? [`${namespace}/${labels?.[JOB_NAME] ?? ""}`] : [];
}
