import type { KubeObject, OwnerReference } from "./meta.ts";

/** What an owner reference has besides who the owner is. */
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

/** True when the object has an owner reference to this UID, as its controller or not. */
export function isOwnedBy(object: KubeObject, ownerUid: string): boolean {
  return object.metadata.ownerReferences?.some(({ uid }) => uid === ownerUid) ?? false;
}
