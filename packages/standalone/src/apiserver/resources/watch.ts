import {
  defined,
  firstOf,
  isStatus,
  type JsonWatchEvent,
  type UnstructuredObject,
  type WatchOptions,
  within,
} from "@mooring/store";
import { negotiate, type Shape } from "../http/accept.ts";
import { type Call, flag } from "../http/call.ts";
import { toStatusError } from "../http/respond.ts";
import { LineWriter } from "../http/stream.ts";
import { columnDefinitions, columnsOf, partialObject, tableRow } from "../table/table.ts";
import { integer, listOptions, optionsInvalid } from "./options.ts";
import { includeObject } from "./representation.ts";
import type { Target } from "./target.ts";

const WATCH_SHAPES: readonly Shape[] = ["Object", "Table", "PartialObjectMetadata"];
/** As in Kubernetes: a watch without a time limit ends after 30 to 60 minutes, so that clients spread out. */
const MIN_TIMEOUT_SECONDS = 1800;

/** GET with `watch=1`: one JSON event a line until the client leaves, the time is over, or the server stops. */
export async function handleWatch(call: Call, target: Target, stopping: AbortSignal): Promise<void> {
  const { shape } = negotiate(call.request.headers.accept, WATCH_SHAPES);
  const seconds = integer(call, "timeoutSeconds") || MIN_TIMEOUT_SECONDS * (1 + Math.random());
  const longestMs = Math.ceil(seconds * 1000);
  await firstOf([call.signal, stopping], async (either) => {
    if (!either.aborted) await within(longestMs, either, (signal) => stream(call, target, shape, signal));
  });
}

async function stream(call: Call, target: Target, shape: Shape, signal: AbortSignal): Promise<void> {
  const events = target.objects.watchJson(watchOptions(call, target, signal));
  const encode = encoder(call, target, shape);
  const lines = new LineWriter(call);
  call.response.writeHead(200, { "Content-Type": "application/json" });
  call.response.flushHeaders();
  try {
    for await (const event of events) await lines.write(encode(event));
  } catch (error) {
    if (!signal.aborted) await lines.write(errorLine(error));
  }
  call.response.end();
}

function watchOptions(call: Call, target: Target, signal: AbortSignal): WatchOptions {
  const { labelSelector, fieldSelector, resourceVersion } = listOptions(call);
  const initial = flag(call.query, "sendInitialEvents");
  const match = call.query.get("resourceVersionMatch") ?? "";
  if ((initial !== undefined && match !== "NotOlderThan") || (initial === undefined && match !== "")) {
    const message =
      initial === undefined
        ? "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        : "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
    throw optionsInvalid("ListOptions", "resourceVersionMatch", "FieldValueForbidden", message);
  }
  return {
    signal,
    allowBookmarks: flag(call.query, "allowWatchBookmarks") ?? false,
    ...defined({
      namespace: target.namespace,
      labelSelector,
      fieldSelector,
      resourceVersion,
      sendInitialEvents: initial,
    }),
  };
}

function encoder(call: Call, target: Target, shape: Shape): (event: JsonWatchEvent) => string {
  if (shape === "Object") return ({ type, json }) => `{"type":"${type}","object":${json}}\n`;
  const shaped = shape === "Table" ? tables(call, target) : partialObject;
  return ({ type, json }) =>
    `${JSON.stringify({ type, object: shaped(JSON.parse(json) as UnstructuredObject) })}\n`;
}

/** One table with one row per event; the columns are sent once. */
function tables(call: Call, target: Target): (object: UnstructuredObject) => object {
  const columns = columnsOf(target.kind, target.version);
  const include = includeObject(call);
  let definitions: object[] | null = columnDefinitions(columns);
  return (object) => {
    const table = {
      kind: "Table",
      apiVersion: "meta.k8s.io/v1",
      metadata: { resourceVersion: object.metadata.resourceVersion },
      columnDefinitions: definitions,
      rows: [tableRow(object, columns, include, new Date())],
    };
    definitions = null;
    return table;
  };
}

function errorLine(error: unknown): string {
  const status = toStatusError(error).toStatus();
  // The watch of an expired revision is "gone" for clients that read the code, and Expired for all others.
  if (isStatus(error, "Gone")) status.reason = "Expired";
  return `${JSON.stringify({ type: "ERROR", object: status })}\n`;
}
