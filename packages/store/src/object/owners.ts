import type { KubeObject, OwnerReference } from "./meta.ts";

export interface OwnerOptions {
  /** The owner manages the object; at most one reference of an object says so. Default true. */
  controller?: boolean;
  /** A foreground deletion of the owner waits for the object. Default true. */
  blockOwnerDeletion?: boolean;
}

/** A reference to an object that has been stored (it needs its uid). Owner and owned share a namespace, or the owner has none. */
export function ownerReferenceTo(owner: KubeObject, options: OwnerOptions = {}): OwnerReference {
  const { name, uid } = owner.metadata;
  if (uid === undefined) throw new TypeError(`${owner.kind} ${name} has no uid and cannot own anything`);
  const { controller = true, blockOwnerDeletion = true } = options;
  return { apiVersion: owner.apiVersion, kind: owner.kind, name, uid, controller, blockOwnerDeletion };
}

/** Adds or replaces the reference in memory; true when that changed something. */
export function setOwner(object: KubeObject, reference: OwnerReference): boolean {
  const before = object.metadata.ownerReferences ?? [];
  const others = before.filter(({ uid }) => uid !== reference.uid);
  object.metadata.ownerReferences = [...others, reference];
  return JSON.stringify(before) !== JSON.stringify(object.metadata.ownerReferences);
}

export function isOwnedBy(object: KubeObject, ownerUid: string): boolean {
  return object.metadata.ownerReferences?.some(({ uid }) => uid === ownerUid) ?? false;
}

/** The reference to the owner that manages the object. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find(({ controller }) => controller === true);
}
