import { badRequest, type KubeObject, type UnstructuredObject } from "@mooring/store";
import { negotiate, type Representation, type Shape } from "../http/accept.ts";
import type { Call } from "../http/call.ts";
import { send, sendBytes } from "../http/respond.ts";
import { columnDefinitions, columnsOf, type IncludeObject, partialObject, tableRow } from "../table/table.ts";
import type { Target } from "./target.ts";

const ITEM_SHAPES: readonly Shape[] = ["Object", "Table", "PartialObjectMetadata"];

/** How one object is to be sent. Call before the work is done: a client that takes nothing we have gets 406. */
export function itemRepresentation(call: Call): Representation {
  return negotiate(call.request.headers.accept, ITEM_SHAPES);
}

/** What of each object a table has: `includeObject` of the request. */
export function includeObject(call: Call): IncludeObject {
  const value = call.query.get("includeObject") ?? "Metadata";
  if (value === "" || value === "Metadata") return "Metadata";
  if (value === "None" || value === "Object") return value;
  throw badRequest(`unrecognized includeObject value: ${JSON.stringify(value)}`);
}

/** Sends one object in the shape that the client asked for. */
export async function sendObject(
  call: Call,
  target: Target,
  { code, object }: { code: number; object: KubeObject },
  representation: Representation,
): Promise<void> {
  await send(call, code, shaped(call, target, object, representation.shape), representation.format);
}

/** Like {@link sendObject} for an object that is JSON already. */
export async function sendObjectJson(
  call: Call,
  target: Target,
  json: string,
  representation: Representation,
): Promise<void> {
  const { shape, format } = representation;
  if (shape === "Object" && format === "json") {
    return sendBytes(call, 200, Buffer.from(`${json}\n`), "application/json");
  }
  return sendObject(
    call,
    target,
    { code: 200, object: JSON.parse(json) as UnstructuredObject },
    representation,
  );
}

function shaped(call: Call, target: Target, object: KubeObject, shape: Shape): object {
  if (shape === "PartialObjectMetadata") return partialObject(object);
  if (shape !== "Table") return object;
  const columns = columnsOf(target.kind, target.version);
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: { resourceVersion: object.metadata.resourceVersion },
    columnDefinitions: columnDefinitions(columns),
    rows: [tableRow(object, columns, includeObject(call), new Date())],
  };
}
