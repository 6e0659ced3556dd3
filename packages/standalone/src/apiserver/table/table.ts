import type { KubeObject } from "@mooring/store";
import { age } from "../../kinds/age.ts";
import type { Cell, Column, KindInfo } from "../../kinds/kind-info.ts";
import { jsonPath } from "./json-path.ts";

/** What rows carry of their objects: `includeObject` of meta/v1 TableOptions. */
export type IncludeObject = "None" | "Metadata" | "Object";

interface TableRow {
  cells: Cell[];
  object?: unknown;
}

const DEFAULT_COLUMNS: readonly Column[] = [
  {
    name: "Name",
    type: "string",
    format: "name",
    description: "Name must be unique within a namespace.",
    value: (object) => object.metadata.name,
  },
  {
    name: "Age",
    type: "date",
    description: "Time since creation.",
    value: (object, now) => age(object.metadata.creationTimestamp, now),
  },
];

/** The columns that kubectl prints for the kind. */
export function columnsOf(kind: KindInfo, version: string): readonly Column[] {
  const columns = kind.columns[version] ?? [];
  return columns.length === 0 ? DEFAULT_COLUMNS : columns;
}

/** meta/v1 TableColumnDefinition; all of its fields are required there. */
export function columnDefinitions(columns: readonly Column[]): object[] {
  return columns.map(({ name, type, format = "", description = "", priority = 0 }) => ({
    name,
    type,
    format,
    description,
    priority,
  }));
}

/** An object as a row of a table; `now` is what ages are counted to. */
export function tableRow(
  object: KubeObject,
  columns: readonly Column[],
  include: IncludeObject,
  now: Date,
): TableRow {
  const cells = columns.map((column) =>
    "value" in column ? column.value(object, now) : pathCell(object, column, now),
  );
  if (include === "None") return { cells };
  return { cells, object: include === "Object" ? object : partialObject(object) };
}

/** meta/v1 PartialObjectMetadata. */
export function partialObject(object: KubeObject): object {
  return { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: object.metadata };
}

/** A printer column of a CRD: the first match, in the column's type; null prints as `<none>`. */
function pathCell(object: KubeObject, column: Column & { jsonPath: string }, now: Date): Cell {
  const found = jsonPath(column.jsonPath)(object);
  const [value] = found;
  if (value === undefined) return null;
  switch (column.type) {
    case "date":
      return typeof value === "string" ? age(value, now) : "<unknown>";
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "string":
      return found.map((item) => (typeof item === "object" ? JSON.stringify(item) : String(item))).join(",");
  }
}
