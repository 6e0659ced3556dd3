import {
  apiVersionOf,
  defined,
  type JsonList,
  type JsonListEnd,
  type UnstructuredObject,
} from "@mooring/store";
import { negotiate, type Shape } from "../http/accept.ts";
import type { Call } from "../http/call.ts";
import { sendPieces } from "../http/stream.ts";
import { yamlText } from "../http/yaml-text.ts";
import { columnDefinitions, columnsOf, partialObject, tableRow } from "../table/table.ts";
import { listOptions } from "./options.ts";
import { includeObject } from "./representation.ts";
import type { Target } from "./target.ts";

/** What a list may be sent as. */
export const LIST_SHAPES: readonly Shape[] = ["Object", "Table", "PartialObjectMetadataList"];

/** The pieces that lists of all shapes are put together from. */
interface ListWriter {
  head: Record<string, unknown>;
  itemsField: "items" | "rows";
  item(json: string): string;
}

/** GET of a collection: streams, whatever its size. */
export async function handleList(call: Call, target: Target): Promise<void> {
  const { format, shape } = negotiate(call.request.headers.accept, LIST_SHAPES);
  const writer = listWriter(call, target, shape);
  const options = listOptions(call);
  const list = target.objects.listJson({
    ...options,
    ...defined({ namespace: target.namespace }),
  });
  const isLimited = options.limit !== undefined;
  if (format === "json") return sendPieces(call, "application/json", listPieces(list, writer, isLimited));
  const toYaml = (json: string) => call.parser.toYaml(call.user.username, json, "elements");
  return sendPieces(call, "application/yaml", yamlPieces(list, writer, isLimited, toYaml));
}

function listWriter(call: Call, target: Target, shape: Shape): ListWriter {
  if (shape === "Table") {
    const columns = columnsOf(target.kind, target.version);
    const include = includeObject(call);
    const now = new Date();
    return {
      head: { kind: "Table", apiVersion: "meta.k8s.io/v1", columnDefinitions: columnDefinitions(columns) },
      itemsField: "rows",
      item: (json) => JSON.stringify(tableRow(JSON.parse(json) as UnstructuredObject, columns, include, now)),
    };
  }
  if (shape === "PartialObjectMetadataList") {
    return {
      head: { kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1" },
      itemsField: "items",
      item: (json) => JSON.stringify(partialObject(JSON.parse(json) as UnstructuredObject)),
    };
  }
  return {
    head: { kind: target.kind.listKind, apiVersion: apiVersionOf(target.resource) },
    itemsField: "items",
    item: (json) => json,
  };
}

/**
 * How a limited list goes on is known only at its end, so there its metadata comes last: JSON does not care for the
 * order of fields. Where nothing can be left over it comes first, as readers expect.
 */
async function* listPieces(
  list: JsonList,
  writer: ListWriter,
  limited: boolean,
): AsyncGenerator<string, void> {
  const { resourceVersion } = list;
  const head = limited ? writer.head : { ...writer.head, metadata: { resourceVersion } };
  try {
    yield `${JSON.stringify(head).slice(0, -1)},"${writer.itemsField}":[`;
    let separator = "";
    for (;;) {
      const page = await list.pages.next();
      if (page.done) {
        yield limited ? `],"metadata":${JSON.stringify(listMeta(resourceVersion, page.value))}}\n` : "]}\n";
        return;
      }
      yield separator + page.value.map(writer.item).join(",");
      separator = ",";
    }
  } finally {
    // The store keeps a snapshot open until the list ends, also when the client has left.
    await list.pages.return({});
  }
}

/** The same as YAML. */
async function* yamlPieces(
  list: JsonList,
  { head, itemsField, item }: ListWriter,
  limited: boolean,
  toYaml: (json: string) => Promise<string>,
): AsyncGenerator<string, void> {
  const { resourceVersion } = list;
  try {
    yield yamlText(limited ? head : { ...head, metadata: { resourceVersion } });
    let begun = false;
    for (;;) {
      const page = await list.pages.next();
      if (page.done) {
        if (!begun) yield `${itemsField}: []\n`;
        if (limited) yield yamlText({ metadata: listMeta(resourceVersion, page.value) });
        return;
      }
      const elements = await toYaml(`[${page.value.map(item).join(",")}]`);
      yield begun ? elements : `${itemsField}:\n${elements}`;
      begun = true;
    }
  } finally {
    await list.pages.return({});
  }
}

function listMeta(resourceVersion: string, end: JsonListEnd): object {
  return { resourceVersion, ...end };
}
