import type { Resource, UnstructuredObject } from "@mooring/store";
import { type Verb, verbsOf } from "../../kinds/kind-info.ts";
import type { Api } from "../api.ts";
import { emptyListOfAbsent, refusalOfAbsent } from "../discovery/absent-kinds.ts";
import { negotiate } from "../http/accept.ts";
import { type Call, flag, warn } from "../http/call.ts";
import { send } from "../http/respond.ts";
import { handleReview } from "../reviews/handle.ts";
import { handleDelete, handleDeleteCollection } from "./delete.ts";
import { handleList, LIST_SHAPES } from "./list.ts";
import { itemRepresentation, sendObjectJson } from "./representation.ts";
import { handleScale } from "./scale.ts";
import { handleSpecial } from "./special.ts";
import {
  fitsScope,
  type ItemTarget,
  isItem,
  keyOfTarget,
  methodNotAllowed,
  parseResourcePath,
  pathNotFound,
  type ResourcePath,
  type Target,
} from "./target.ts";
import { collectionOf } from "./view.ts";
import { handleWatch } from "./watch.ts";
import { handleCreate, handlePatch, handleUpdate } from "./write.ts";

/** Everything below a group and version. */
export async function handleResource(call: Call, api: Api): Promise<void> {
  const path = parseResourcePath(call.segments);
  if (path === undefined) throw pathNotFound();
  if (await handleReview(call, api, path)) return;
  const none = isSearch(call, path) ? emptyListOfAbsent(path) : undefined;
  if (none !== undefined) return send(call, 200, none);
  const target = resolve(api, path);
  const warning = target.kind.deprecationWarnings?.[target.version];
  if (warning !== undefined) warn(call, warning);
  if (!isItem(target)) return onCollection(call, target, api);
  if (target.subresource === undefined) return onItem(call, target, api);
  return onSubresource(call, target, api);
}

/**
 * `kubectl apply --prune` and `delete -l` go through a whole list of kinds, and end with the first that is refused. Who wants a table
 * shows it to a user.
 */
function isSearch(call: Call, { name }: ResourcePath): boolean {
  const { method, query } = call;
  const isList = method === "GET" && name === undefined && flag(query, "watch") !== true;
  const byLabel = isList && (query.get("labelSelector") ?? "") !== "";
  return byLabel && negotiate(call.request.headers.accept, LIST_SHAPES).shape !== "Table";
}

function resolve(api: Api, path: ResourcePath): Target {
  const kind = api.kinds.find(path.group, path.version, path.plural);
  if (kind === undefined) throw refusalOfAbsent(path) ?? pathNotFound();
  if (!fitsScope(path, kind)) throw pathNotFound();
  const { group, kind: name, plural, namespaced } = kind.resource;
  const resource: Resource<UnstructuredObject> = {
    group,
    version: path.version,
    kind: name,
    plural,
    namespaced,
  };
  return { ...path, kind, resource, objects: collectionOf(api.store, resource) };
}

function require(target: Target, verb: Verb): void {
  if (!verbsOf(target.kind).includes(verb)) throw methodNotAllowed();
}

async function onCollection(call: Call, target: Target, api: Api): Promise<void> {
  switch (call.method) {
    case "GET":
    case "HEAD":
      if (flag(call.query, "watch") === true) {
        require(target, "watch");
        return handleWatch(call, target, api.signal);
      }
      require(target, "list");
      return handleList(call, target);
    case "POST":
      require(target, "create");
      return handleCreate(call, target, api);
    case "DELETE":
      require(target, "deletecollection");
      return handleDeleteCollection(call, target, api);
    default:
      throw methodNotAllowed();
  }
}

async function onItem(call: Call, target: ItemTarget, api: Api): Promise<void> {
  switch (call.method) {
    case "GET":
    case "HEAD":
      return handleGet(call, target);
    case "PUT":
      require(target, "update");
      return handleUpdate(call, target, api);
    case "PATCH":
      require(target, "patch");
      return handlePatch(call, target, api);
    case "DELETE":
      require(target, "delete");
      return handleDelete(call, target, api);
    default:
      throw methodNotAllowed();
  }
}

async function handleGet(call: Call, target: ItemTarget): Promise<void> {
  const representation = itemRepresentation(call);
  await sendObjectJson(call, target, target.objects.getJson(keyOfTarget(target)), representation);
}

async function onSubresource(call: Call, target: ItemTarget, api: Api): Promise<void> {
  const { subresources } = target.kind;
  if (target.subresource === "status" && subresources.status) {
    if (call.method === "GET" || call.method === "HEAD") return handleGet(call, target);
    if (call.method === "PUT") return handleUpdate(call, target, api);
    if (call.method === "PATCH") return handlePatch(call, target, api);
    throw methodNotAllowed();
  }
  if (target.subresource === "scale" && subresources.scale !== undefined) {
    return handleScale(call, target, subresources.scale);
  }
  return handleSpecial(call, target, api);
}
