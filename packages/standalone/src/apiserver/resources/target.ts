import {
  badRequest,
  defined,
  type ObjectKey,
  type Resource,
  StatusError,
  type UnstructuredObject,
} from "@mooring/store";
import type { KindInfo } from "../../kinds/kind-info.ts";
import type { Collection } from "./collection.ts";

/** What a path below /api or /apis names, before it is known whether it exists. */
export interface ResourcePath {
  group: string;
  version: string;
  plural: string;
  namespace?: string;
  name?: string;
  subresource?: string;
}

/** A path whose kind is served. */
export interface Target extends ResourcePath {
  kind: KindInfo;
  /** In the version of the path. */
  resource: Resource<UnstructuredObject>;
  objects: Collection;
}

/** A target with a name. */
export type ItemTarget = Target & { name: string };

const OF_NAMESPACES = new Set(["status", "finalize"]);

/** Reads `/api/v1/...` and `/apis/GROUP/VERSION/...`; undefined for paths that name no resource. */
export function parseResourcePath(segments: readonly string[]): ResourcePath | undefined {
  const legacy = segments[0] === "api";
  const [group, version, rest] = legacy
    ? ["", segments[1], segments.slice(2)]
    : [segments[1], segments[2], segments.slice(3)];
  if (group === undefined || version === undefined || rest.length === 0) return undefined;
  const [first, second, third] = rest;
  const inNamespace =
    first === "namespaces" && third !== undefined && !(rest.length === 3 && OF_NAMESPACES.has(third));
  const [plural, name, subresource, ...surplus] = inNamespace ? rest.slice(2) : rest;
  if (plural === undefined || surplus.length > 0) return undefined;
  return {
    group,
    version,
    plural,
    ...(inNamespace && second !== undefined ? { namespace: second } : {}),
    ...defined({ name, subresource }),
  };
}

/** Whether a path fits the kind's scope: cluster-scoped kinds have no namespace, namespaced objects need one. */
export function fitsScope(path: ResourcePath, kind: KindInfo): boolean {
  if (!kind.resource.namespaced) return path.namespace === undefined;
  return path.namespace !== undefined || path.name === undefined;
}

/** The key of the object in the store. */
export function keyOfTarget(target: ItemTarget): ObjectKey {
  return target.namespace === undefined
    ? { name: target.name }
    : { namespace: target.namespace, name: target.name };
}

/** True when the path names one object. */
export function isItem(target: Target): target is ItemTarget {
  return target.name !== undefined;
}

/** MethodNotAllowed (405). */
export function methodNotAllowed(): StatusError {
  return new StatusError(
    "MethodNotAllowed",
    "the server does not allow this method on the requested resource",
  );
}

/** NotFound (404) for a path that nothing is served at. */
export function pathNotFound(): StatusError {
  return new StatusError("NotFound", "the server could not find the requested resource");
}

/** Namespaced objects are written through their namespace's path. */
export function requireNamespace(target: Target): void {
  if (target.kind.resource.namespaced && target.namespace === undefined) {
    throw badRequest("an empty namespace may not be set during creation");
  }
}
