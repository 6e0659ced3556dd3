import { type FieldRequirement, isStatus, parseFieldSelector } from "@mooring/store";
import type { Call } from "../http/call.ts";
import { flag } from "../http/call.ts";
import { parseResourcePath } from "../resources/target.ts";

/** What a user wants to do: with a resource, or with a path that is none. */
export type Attributes =
  | { type: "path"; verb: string; path: string }
  | {
      type: "resource";
      verb: string;
      group: string;
      resource: string;
      subresource: string;
      name: string;
      /** Empty: at the cluster scope. */
      namespace: string;
      /** What objects of a collection have to be like, as its list reads it: all of these. */
      fields?: readonly FieldRequirement[];
    };

const ITEM_VERBS: Readonly<Record<string, string>> = {
  GET: "get",
  HEAD: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/** The attributes of a request, as Kubernetes derives them for its authorizers. */
export function attributesOf(call: Call): Attributes {
  const [root] = call.segments;
  const deep = call.segments.length > (root === "api" ? 2 : 3);
  const path = (root === "api" || root === "apis") && deep ? parseResourcePath(call.segments) : undefined;
  const verb =
    (Object.hasOwn(ITEM_VERBS, call.method) ? ITEM_VERBS[call.method] : undefined) ??
    call.method.toLowerCase();
  if (path === undefined) return { type: "path", verb, path: call.path };
  const { group, plural, subresource = "", name = "", namespace = "" } = path;
  const ofCollection = name === "" ? collectionVerb(call, verb) : verb;
  const fields = name === "" ? requirementsOf(call) : [];
  const one = name === "" && verb !== "create" ? exactName(fields) : name;
  // A namespace is in itself, so that a role in it can allow reading it.
  const inNamespace = group === "" && plural === "namespaces" ? name : namespace;
  return {
    type: "resource",
    verb: ofCollection,
    group,
    resource: plural,
    subresource,
    name: one,
    namespace: inNamespace,
    ...(fields.length === 0 ? {} : { fields }),
  };
}

function collectionVerb(call: Call, verb: string): string {
  if (verb === "get") return flag(call.query, "watch") === true ? "watch" : "list";
  return verb === "delete" ? "deletecollection" : verb;
}

/** A collection of one: a user who may read a single object may list and watch it, too. */
function exactName(fields: readonly FieldRequirement[]): string {
  return fields.find(({ field, equal }) => equal && field === "metadata.name")?.value ?? "";
}

/**
 * By the parser that selects the objects: a user who is let in by one reading of a selector must not be given what another
 * one selects. Of one that cannot be read nothing is known; the list refuses it.
 */
function requirementsOf({ query }: Call): FieldRequirement[] {
  try {
    return parseFieldSelector(query.get("fieldSelector") ?? "");
  } catch (error) {
    if (isStatus(error, "BadRequest")) return [];
    throw error;
  }
}
