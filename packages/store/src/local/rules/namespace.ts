import type { UnstructuredObject } from "../../object/meta.ts";

/** Namespaces have finalizers of their own, in spec: they stay until the namespace controller has emptied them. */
export function hasSpecFinalizers(object: UnstructuredObject): boolean {
  if (object.kind !== "Namespace" || object.apiVersion !== "v1") return false;
  const { spec } = object;
  if (typeof spec !== "object" || spec === null) return false;
  const { finalizers } = spec as { finalizers?: unknown };
  return Array.isArray(finalizers) && finalizers.length > 0;
}

/** A namespace that is marked for deletion is Terminating at once. */
export function withTerminatingPhase(object: UnstructuredObject): UnstructuredObject {
  if (!hasSpecFinalizers(object)) return object;
  const status = typeof object.status === "object" && object.status !== null ? object.status : {};
  return { ...object, status: { ...status, phase: "Terminating" } };
}
