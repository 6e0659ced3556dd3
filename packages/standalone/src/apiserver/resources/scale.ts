import {
  applyJsonPatch,
  applyMergePatch,
  badRequest,
  conflict,
  defined,
  formatLabelSelector,
  invalid,
  labelRequirements,
  type UnstructuredObject,
} from "@mooring/store";
import type { ScalePaths } from "../../kinds/kind-info.ts";
import { negotiate } from "../http/accept.ts";
import { contentType, readAs, unsupportedMediaType } from "../http/body.ts";
import type { Call } from "../http/call.ts";
import { send } from "../http/respond.ts";
import { jsonPath } from "../table/json-path.ts";
import { asObject, placed, readObject } from "./decode-object.ts";
import { fieldValidation, writeOptions } from "./options.ts";
import { type ItemTarget, keyOfTarget, methodNotAllowed } from "./target.ts";

const SCALE = { apiVersion: "autoscaling/v1", kind: "Scale", defaulted: true };

/** `.../scale`: the object seen as an autoscaling/v1 Scale; writing one changes the replicas and nothing else. */
export async function handleScale(call: Call, target: ItemTarget, paths: ScalePaths): Promise<void> {
  const { format } = negotiate(call.request.headers.accept, ["Object"]);
  const read = () => JSON.parse(target.objects.getJson(keyOfTarget(target))) as UnstructuredObject;
  if (call.method === "GET" || call.method === "HEAD") return send(call, 200, scaleOf(read(), paths), format);
  const options = writeOptions(call, call.method === "PUT" ? "UpdateOptions" : "PatchOptions");
  const change = await readChange(call, target);
  // From here to the write no other request gets a turn, so that a patch cannot conflict.
  const current = read();
  const wanted = change(scaleOf(current, paths));
  const { resourceVersion, uid } = wanted.metadata;
  if (resourceVersion && resourceVersion !== current.metadata.resourceVersion) {
    throw conflict(target.resource, target.name);
  }
  if (uid && uid !== current.metadata.uid) throw conflict(target.resource, target.name);
  const next = withReplicas(current, paths.specReplicasPath, replicasOf(wanted, target));
  const updated = await target.objects.update(next, options);
  return send(call, 200, scaleOf(updated, paths), format);
}

function scaleOf(object: UnstructuredObject, paths: ScalePaths): UnstructuredObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const first = (path: string) => jsonPath(path)(object)[0];
  const selector = paths.labelSelectorPath === undefined ? undefined : first(paths.labelSelectorPath);
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: {
      name,
      ...defined({ namespace, uid, resourceVersion, creationTimestamp }),
    },
    spec: { replicas: first(paths.specReplicasPath) ?? 0 },
    status: {
      replicas: first(paths.statusReplicasPath) ?? 0,
      ...defined({ selector: selectorText(selector) }),
    },
  };
}

function selectorText(selector: unknown): string | undefined {
  if (typeof selector === "string") return selector;
  if (typeof selector !== "object" || selector === null) return undefined;
  return formatLabelSelector(labelRequirements(selector));
}

/** What the request makes of the Scale that is there. */
async function readChange(
  call: Call,
  target: ItemTarget,
): Promise<(scale: UnstructuredObject) => UnstructuredObject> {
  if (call.method === "PUT") {
    const scale = await readObject(call, target, fieldValidation(call, "UpdateOptions"), SCALE);
    return () => scale;
  }
  if (call.method !== "PATCH") throw methodNotAllowed();
  const type = contentType(call);
  const { value } = await readAs(call, "json");
  if (type === "application/json-patch+json") {
    return (scale) => placed(asObject(applyJsonPatch<unknown>(scale, value), SCALE), target);
  }
  // A Scale has no lists, so both kinds of merge are the same.
  if (type === "application/merge-patch+json" || type === "application/strategic-merge-patch+json") {
    return (scale) => placed(asObject(applyMergePatch(scale, value), SCALE), target);
  }
  throw unsupportedMediaType(["application/json-patch+json", "application/merge-patch+json"]);
}

function replicasOf(scale: UnstructuredObject, target: ItemTarget): number {
  const spec = scale.spec;
  const replicas =
    typeof spec === "object" && spec !== null ? (spec as { replicas?: unknown }).replicas : undefined;
  if (replicas === undefined || replicas === null) return 0;
  if (typeof replicas === "number" && Number.isInteger(replicas) && replicas >= 0) return replicas;
  const message = `Invalid value: ${JSON.stringify(replicas)}: must be greater than or equal to 0`;
  throw invalid({ group: "autoscaling", kind: "Scale" }, target.name, [
    { reason: "FieldValueInvalid", message, field: "spec.replicas" },
  ]);
}

/** A copy with the number at `path`, which has no brackets (`.spec.replicas`), objects made on the way. */
function withReplicas(object: UnstructuredObject, path: string, replicas: number): UnstructuredObject {
  const names = path.replace(/^\./, "").split(".");
  const last = names.pop();
  if (last === undefined) throw badRequest(`the scale path ${path} names no field`);
  const copy = structuredClone(object);
  let at: Record<string, unknown> = copy;
  for (const name of names) {
    if (typeof at[name] !== "object" || at[name] === null) at[name] = {};
    at = at[name] as Record<string, unknown>;
  }
  at[last] = replicas;
  return copy;
}
