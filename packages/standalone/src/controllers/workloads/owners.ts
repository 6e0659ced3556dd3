import { type KubeObject, labelRequirements, matchesLabels, type PodTemplate } from "@mooring/store";

interface Selecting extends KubeObject {
  spec?: { selector?: Parameters<typeof labelRequirements>[0] };
}

/** The uid of the object that manages this one. */
export function controllerUid(object: KubeObject): string | undefined {
  return object.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
}

/** Indexers for what workloads manage: by the uid of the controller and, without one, by namespace. */
export const BY_CONTROLLER = {
  controller(object: KubeObject): string[] {
    const uid = controllerUid(object);
    return uid === undefined ? [] : [uid];
  },
  orphan: (object: KubeObject): string[] =>
    controllerUid(object) === undefined ? [object.metadata.namespace ?? ""] : [],
};

/** Whether a workload's selector matches; an empty or unreadable one matches nothing. */
export function selects({ spec }: Selecting, object: KubeObject): boolean {
  const selector = spec?.selector;
  if (selector === undefined || Object.keys(selector).length === 0) return false;
  try {
    return matchesLabels(labelRequirements(selector), object.metadata.labels ?? {});
  } catch {
    return false;
  }
}

/** The owner references of an object that its controller releases, because its labels do not fit any more. */
export function withoutController(object: KubeObject): KubeObject["metadata"] {
  const { ownerReferences = [], ...metadata } = object.metadata;
  const rest = ownerReferences.filter(({ controller }) => controller !== true);
  return rest.length === 0 ? metadata : { ...metadata, ownerReferences: rest };
}

/** The labels that pods of a template get. */
export function labelsOf(template: PodTemplate | undefined): Record<string, string> {
  return template?.metadata?.labels ?? {};
}
