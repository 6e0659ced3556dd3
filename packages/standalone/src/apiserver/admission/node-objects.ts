import type { JsonStore, UnstructuredObject } from "@mooring/store";
import { isObject } from "../../schema/model.ts";
import { IDENTITY } from "../join/identity.ts";
import { forbiddenLabels } from "./node-labels.ts";

/** An object that a node writes, and what it was before. */
export interface Objects {
  next: UnstructuredObject;
  /** Undefined: it is made. */
  old: UnstructuredObject | undefined;
}

/** The reason why a node must not write this; undefined: it may. */
export type Check = (node: string, objects: Objects, context: { store: JsonStore }) => string | undefined;

/** Equal as JSON, keys in the same order; absent and null are one. */
export const same = (a: unknown, b: unknown): boolean =>
  JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
/** The fields of an object of unknown shape; none for anything else. */
export const fields = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});

/** Why not, when the object is not called as the node is. */
export function ownName(node: string, { next }: Objects): string | undefined {
  return next.metadata.name === node
    ? undefined
    : `is not allowed to write the object of ${next.metadata.name}`;
}

/**
 * An attacker who has a node must not draw pods to it that others keep away, nor have it deleted as another object's
 * dependent, nor keep it from being deleted.
 */
export function ownNode(node: string, { next, old }: Objects): string | undefined {
  const wrong = ownName(node, { next, old });
  if (wrong !== undefined) return wrong;
  const { annotations, labels, ownerReferences, finalizers } = next.metadata;
  if (!same(annotations?.[IDENTITY], old?.metadata.annotations?.[IDENTITY]))
    return `is not allowed to change the annotation ${IDENTITY}`;
  if (!same(ownerReferences ?? [], old?.metadata.ownerReferences ?? []))
    return "is not allowed to change its ownerReferences";
  if (!same(finalizers ?? [], old?.metadata.finalizers ?? []))
    return "is not allowed to change its finalizers";
  const [spec, before] = [fields(next.spec), fields(old?.spec)];
  if (old !== undefined && !same(spec.taints ?? [], before.taints ?? []))
    return "is not allowed to modify taints";
  if (spec.configSource !== undefined && !same(spec.configSource, before.configSource))
    return "is not allowed to set spec.configSource";
  const refused = forbiddenLabels(labels, old?.metadata.labels);
  return refused.length === 0 ? undefined : `is not allowed to modify labels: ${refused.join(", ")}`;
}

/** Why not, when the pod is not on this node. */
export function ownPod(node: string, { next, old }: Objects): string | undefined {
  if (old === undefined) return "makes no pods";
  if (fields(old.spec).nodeName !== node) return "can only update pods with spec.nodeName set to itself";
  const claims = (pod: UnstructuredObject) => fields(pod.status).resourceClaimStatuses;
  if (!same(claims(next), claims(old))) return "cannot change which resource claims a pod has";
  return same(next.metadata.labels, old.metadata.labels)
    ? undefined
    : "cannot update labels through pod status";
}

/** What a kubelet reports of a claim: how large it is by now, and what came of asking for more. */
const OF_KUBELET = ["capacity", "conditions", "allocatedResources", "allocatedResourceStatuses"];

/**
 * Why not, when a node changes more of a claim than a kubelet does: its capacity, its conditions, and the growth on the
 * node.
 */
export function claimOfPod(_node: string, { next, old }: Objects): string | undefined {
  const left = (claim: UnstructuredObject | undefined) =>
    Object.entries(fields(claim?.status))
      .filter(([field]) => !OF_KUBELET.includes(field))
      .sort(([a], [b]) => (a < b ? -1 : 1));
  return same(left(next), left(old)) ? undefined : "may say of a claim only how large it is, and why not";
}
