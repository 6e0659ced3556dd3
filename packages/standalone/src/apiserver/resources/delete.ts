import {
  apiVersionOf,
  badRequest,
  type DeleteOptions,
  defined,
  isConflict,
  isNotFound,
  type ListOptions,
  type UnstructuredObject,
} from "@mooring/store";
import { nodeDeletion } from "../admission/node-restriction.ts";
import type { Api } from "../api.ts";
import { readBody } from "../http/body.ts";
import { type Call, flag } from "../http/call.ts";
import { send } from "../http/respond.ts";
import { dryRunOf, listOptions, optionsInvalid } from "./options.ts";
import { itemRepresentation, sendObject } from "./representation.ts";
import { type ItemTarget, keyOfTarget, requireNamespace, type Target } from "./target.ts";
import { mayRefuse, requireDeletable } from "./undeletable.ts";

type Policy = NonNullable<DeleteOptions["propagationPolicy"]>;
const POLICIES: readonly string[] = ["Foreground", "Background", "Orphan"] satisfies Policy[];

/** Kinds whose objects are the response to their deletion; of all others a Status is. */
const RETURNS_OBJECT = new Set([
  "pods",
  "namespaces",
  "persistentvolumes",
  "persistentvolumeclaims",
  "serviceaccounts",
]);
const returnsObject = (target: Target) =>
  target.group === "" ? RETURNS_OBJECT.has(target.plural) : target.group === "storage.k8s.io";

/** Deletes side by side: enough to share trips to the disk, few enough to let others in between. */
const BATCH = 64;

interface Deletion extends DeleteOptions {
  orphanDependents?: boolean;
}

/** DELETE of one object. */
export async function handleDelete(call: Call, target: ItemTarget, api: Api): Promise<void> {
  const representation = itemRepresentation(call);
  const options = await readDeleteOptions(call);
  const { orphanDependents, ...storeOptions } = options;
  nodeDeletion(call, target, api);
  requireDeletable(api, target, target.name);
  const object = await target.objects.delete(keyOfTarget(target), storeOptions);
  const gone = options.dryRun === true ? !isTerminating(object) : isGone(target, object);
  const pending =
    !gone &&
    (orphanDependents === false ||
      (orphanDependents === undefined && options.propagationPolicy === "Foreground"));
  if (!gone || returnsObject(target))
    return sendObject(call, target, { code: pending ? 202 : 200, object }, representation);
  return send(call, 200, {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: {
      name: target.name,
      ...(target.group === "" ? {} : { group: target.group }),
      kind: target.plural,
      uid: object.metadata.uid,
    },
  });
}

/** DELETE of a collection: everything that the selectors match. */
export async function handleDeleteCollection(call: Call, target: Target, api: Api): Promise<void> {
  requireNamespace(target);
  const { orphanDependents: _policy, ...options } = await readDeleteOptions(call);
  const namespace = defined({ namespace: target.namespace });
  const asked = { ...listOptions(call), ...namespace };
  // Before the first of them goes: a refusal means that nothing was deleted.
  if (mayRefuse(target)) await requireAllDeletable(target, asked, api);
  const { pages, resourceVersion } = target.objects.listJson(asked);
  const items: UnstructuredObject[] = [];
  for await (const page of pages) {
    for (let at = 0; at < page.length; at += BATCH) {
      const batch = page.slice(at, at + BATCH).map((json) => JSON.parse(json) as UnstructuredObject);
      for (const { metadata } of batch) requireDeletable(api, target, metadata.name);
      const deleted = await Promise.all(
        batch.map((object) => deleteListed(target, namespace, object, options)),
      );
      items.push(...deleted.filter((object) => object !== undefined));
    }
  }
  const kind = target.kind.listKind;
  await send(call, 200, {
    kind,
    apiVersion: apiVersionOf(target.resource),
    metadata: { resourceVersion },
    items,
  });
}

async function requireAllDeletable(target: Target, asked: ListOptions, api: Api): Promise<void> {
  for await (const page of target.objects.listJson(asked).pages)
    for (const json of page)
      requireDeletable(api, target, (JSON.parse(json) as UnstructuredObject).metadata.name);
}

/** An object that went away or was made anew since it was listed is none of this request's business. */
async function deleteListed(
  target: Target,
  { namespace }: { namespace?: string },
  object: UnstructuredObject,
  options: DeleteOptions,
): Promise<UnstructuredObject | undefined> {
  const { uid, name } = object.metadata;
  const key = namespace === undefined ? { name } : { namespace, name };
  const preconditions = { ...defined({ uid }), ...options.preconditions };
  try {
    return await target.objects.delete(key, { ...options, preconditions });
  } catch (error) {
    if (isNotFound(error) || (isConflict(error) && options.preconditions === undefined)) return undefined;
    throw error;
  }
}

const isTerminating = (object: UnstructuredObject) => object.metadata.deletionTimestamp !== undefined;

function isGone(target: ItemTarget, object: UnstructuredObject): boolean {
  try {
    const now = JSON.parse(target.objects.getJson(keyOfTarget(target))) as UnstructuredObject;
    return now.metadata.uid !== object.metadata.uid;
  } catch (error) {
    if (isNotFound(error)) return true;
    throw error;
  }
}

/** From the body (meta/v1 DeleteOptions) when there is one, else from the query. */
async function readDeleteOptions(call: Call): Promise<Deletion> {
  const body = await readBody(call);
  return body === undefined ? checked(fromQuery(call)) : deletionOf(body.value);
}

/** What a meta/v1 DeleteOptions asks for. Throws BadRequest for what is none, and Invalid for values that no deletion has. */
export function deletionOf(value: unknown): Deletion {
  return checked(asOptions(value));
}

function checked(fields: RawOptions): Deletion {
  const { propagationPolicy: policy, orphanDependents: orphan, gracePeriodSeconds: grace } = fields;
  if (policy !== undefined && orphan !== undefined) {
    const message = "Invalid value: orphanDependents and deletionPropagation cannot be both set";
    throw optionsInvalid("DeleteOptions", "propagationPolicy", "FieldValueInvalid", message);
  }
  if (policy !== undefined && !POLICIES.includes(String(policy))) {
    const message = `Unsupported value: ${JSON.stringify(policy)}: supported values: "Background", "Foreground", "Orphan", "nil"`;
    throw optionsInvalid("DeleteOptions", "propagationPolicy", "FieldValueNotSupported", message);
  }
  const effective = policy ?? (orphan === undefined ? undefined : orphan ? "Orphan" : "Background");
  const dryRun = Array.isArray(fields.dryRun) ? fields.dryRun.map(String) : [];
  return {
    dryRun: dryRunOf(dryRun, "DeleteOptions"),
    ...(effective === undefined ? {} : { propagationPolicy: effective as Policy }),
    ...(typeof orphan === "boolean" ? { orphanDependents: orphan } : {}),
    // A negative period means "at once, but not by force", for which Kubernetes takes one second.
    ...(typeof grace === "number" ? { gracePeriodSeconds: grace < 0 ? 1 : Math.trunc(grace) } : {}),
    ...preconditionsOf(fields.preconditions),
  };
}

interface RawOptions {
  propagationPolicy?: unknown;
  orphanDependents?: unknown;
  gracePeriodSeconds?: unknown;
  preconditions?: unknown;
  dryRun?: unknown;
}

function asOptions(value: unknown): RawOptions {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw badRequest("the body of a delete must be DeleteOptions");
  }
  const { kind, ...options } = value as Record<string, unknown>;
  if (kind !== undefined && kind !== "" && kind !== "DeleteOptions") {
    throw badRequest(`${String(kind)} cannot be handled as a DeleteOptions`);
  }
  for (const name of Object.keys(options)) if (options[name] === null) delete options[name];
  return options;
}

function fromQuery({ query }: Call): RawOptions {
  const policy = query.get("propagationPolicy");
  const grace = query.get("gracePeriodSeconds");
  const orphan = flag(query, "orphanDependents");
  if (grace !== null && grace !== "" && !/^-?\d{1,9}$/.test(grace)) {
    throw badRequest(`gracePeriodSeconds: ${JSON.stringify(grace)} is not a whole number`);
  }
  return {
    dryRun: query.getAll("dryRun"),
    ...(policy === null || policy === "" ? {} : { propagationPolicy: policy }),
    ...defined({ orphanDependents: orphan }),
    ...(grace === null || grace === "" ? {} : { gracePeriodSeconds: Number(grace) }),
  };
}

function preconditionsOf(value: unknown): Pick<DeleteOptions, "preconditions"> {
  if (typeof value !== "object" || value === null) return {};
  const { uid, resourceVersion } = value as Record<string, unknown>;
  return {
    preconditions: {
      ...(typeof uid === "string" ? { uid } : {}),
      ...(typeof resourceVersion === "string" ? { resourceVersion } : {}),
    },
  };
}
